import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import type { Manifest } from "./packed-package.ts";

/** Where `pnpm packages:pack` leaves the tarballs. */
export const PACKED = join(ROOT, ".data/packages");

/** A package that products install. */
export interface Library {
  /** Its folder, relative to the repository. */
  readonly folder: string;
  /** Its manifest, as it stands in the repository. */
  readonly text: string;
  readonly manifest: Manifest;
}

/** Every package that products install: those of `packages/`, and neither apps nor tooling. */
export function listLibraries(): Library[] {
  return globSync("packages/*/package.json", { cwd: ROOT })
    .sort()
    .map((path) => {
      const text = readFileSync(join(ROOT, path), "utf8");
      return { folder: dirname(path), text, manifest: JSON.parse(text) as Manifest };
    });
}

/** The migrations as they are committed, by name. */
export function listMigrations(): string[] {
  return globSync("packages/db/prisma/migrations/*/migration.sql", { cwd: ROOT })
    .map((path) => path.split("/").at(-2) ?? "")
    .sort();
}

/** Runs a program in the repository, silent unless it fails. @throws Error with all that it printed */
export function run(program: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: ROOT, encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  if (status !== 0)
    throw new Error(`expected ${program} ${args.join(" ")} to end with 0, got ${error?.message ?? status}\n${stdout}${stderr}`);
}
