import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnCommand } from "@toolctrl/testkit/process";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const COPIED = ["apps", "packages", "tooling", "package.json", "pnpm-workspace.yaml", "tsconfig.json", "vitest.config.ts"];
const NOT_COPIED = new Set(["dist", ".turbo", "evidence.json"]);

/** Copies this checkout, for a test to break it. @returns the copy's folder. */
export function copyRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), "toolctrl-copy-"));
  // Symlinks stay as they are: those between packages are relative, and so lead to the copy's.
  const filter = (path: string): boolean => !NOT_COPIED.has(basename(path));
  for (const name of COPIED) cpSync(join(ROOT, name), join(copy, name), { recursive: true, verbatimSymlinks: true, filter });
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Changes a text that a file has once; the answer undoes it. @throws Error where the change does not apply: it would show nothing. */
export function replaceOnce(file: string, find: string | RegExp, put: string): () => void {
  const before = readFileSync(file, "utf8");
  const parts = before.split(find);
  if (parts.length !== 2) throw new Error(`expected ${String(find)} once in ${file}, found it ${parts.length - 1} times`);
  writeFileSync(file, parts.join(put));
  return () => writeFileSync(file, before);
}

/** Deletes a file; the answer undoes it. */
export function removeFile(file: string): () => void {
  const before = readFileSync(file);
  rmSync(file);
  return () => writeFileSync(file, before);
}

export interface Ended {
  readonly code: number | null;
  readonly lines: readonly string[];
}

/** Runs a script of the copy from its sources. */
export function runScript(copy: string, path: string, args: readonly string[] = []): Promise<Ended> {
  return run(copy, ["--conditions=source", path, ...args]);
}

/** Runs test files of the copy on this run's servers; they leave their evidence in the copy. */
export function runTests(copy: string, files: readonly string[]): Promise<Ended> {
  const env = { TEST_DATABASE_URL: process.env.TESTKIT_POSTGRES_URL, TEST_REDIS_URL: process.env.TESTKIT_REDIS_URL };
  return run(copy, [join("node_modules", "vitest", "vitest.mjs"), "run", ...files], env);
}

async function run(cwd: string, args: readonly string[], env: Readonly<Record<string, string | undefined>> = {}): Promise<Ended> {
  const child = spawnCommand(process.execPath, [...args], { cwd, env });
  const { code } = await child.waitForExit({ timeoutMs: 300_000 });
  return { code, lines: child.lines() };
}
