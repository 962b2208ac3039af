import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { codeBlocksOf } from "./code-blocks.ts";
import { makeScratchFolder } from "./examples.ts";
import { ROOT } from "./repository.ts";

const PACKAGE = join(ROOT, "tooling/docs-check");

export interface Document {
  readonly path: string;
  readonly text: string;
}

export interface TypeCheck {
  /** How many examples were checked. */
  readonly examples: number;
  /** What the compiler found, a line each, at the line of the document. */
  readonly problems: string[];
}

/** Type-checks every `ts` example of the documents, in one run of the compiler and with the repository's settings. */
export function typeCheckExamples(documents: readonly Document[]): TypeCheck {
  const folder = makeScratchFolder();
  try {
    const names = writeExamples(folder, documents);
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings(folder)));
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { stdout, stderr, status } = spawnSync(tsc, ["-p", folder, "--pretty", "false"], { cwd: folder, encoding: "utf8" });
    const problems = stdout
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => atDocument(line, names));
    if (status !== 0 && problems.length === 0) problems.push(`expected tsc to run, got ${String(status)}: ${stderr}`);
    return { examples: names.size, problems };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes each example to a module of its own, its lines where they are in the document. @returns document by file name. */
function writeExamples(folder: string, documents: readonly Document[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const { path, text } of documents) {
    for (const { code, line } of codeBlocksOf(text).filter(({ language }) => language === "ts")) {
      const name = `example-${names.size}.ts`;
      names.set(name, path);
      writeFileSync(join(folder, name), `${"\n".repeat(line - 1)}${code}\nexport {};\n`);
    }
  }
  return names;
}

function settings(folder: string): object {
  const at = (path: string): string => relative(folder, path);
  return {
    extends: at(join(ROOT, "tsconfig.json")),
    // An example may declare what it does not use.
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ["*.ts", at(join(PACKAGE, "fixtures/product.d.ts"))],
  };
}

function atDocument(line: string, names: ReadonlyMap<string, string>): string {
  const [, name = "", row = "", rest = ""] = /^(example-\d+\.ts)\((\d+),\d+\): (.*)$/.exec(line) ?? [];
  const path = names.get(name);
  return path === undefined ? line : `${path}:${row}: ${rest}`;
}
