import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { codeBlocksOf } from "./code-blocks.ts";
import { readText, ROOT } from "./repository.ts";

/** Git-ignored; inside this package, so that examples find the workspace's packages. */
const SCRATCH = join(ROOT, "tooling/docs-check/.examples");

/** A folder for examples of this run alone. */
export function makeScratchFolder(): string {
  mkdirSync(SCRATCH, { recursive: true });
  return mkdtempSync(join(SCRATCH, "run-"));
}

/** The code of the `ts` example of a document that holds a text. */
export function exampleOf(path: string, text: string): string {
  const found = codeBlocksOf(readText(path)).filter(({ language, code }) => language === "ts" && code.includes(text));
  if (found.length !== 1) throw new Error(`expected one example with ${text} in ${path}, got ${found.length}`);
  return found[0]?.code ?? "";
}

/** Runs an example as a module of its own and gives what it exports. What it takes for granted must stand in `globalThis`. */
export async function runExample(code: string): Promise<Record<string, unknown>> {
  const folder = makeScratchFolder();
  try {
    const file = join(folder, "example.ts");
    writeFileSync(file, `${code}\nexport {};\n`);
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
