import { readFileSync } from "node:fs";
import { join } from "node:path";
import { codeBlocksOf } from "@toolctrl/docs-check/code-blocks";
import { ROOT } from "@toolctrl/docs-check/repository";

/** The document that says how a product publishes its first event. */
export const TUTORIAL = "examples/product-app/README.md";

/** What a reader of the tutorial does, in order. */
export type Step =
  | { readonly kind: "write"; readonly file: string; readonly text: string }
  /** `prints` is what the document shows below the command. */
  | { readonly kind: "run"; readonly command: string; readonly prints: string | null };

/**
 * The steps of a tutorial: a `ts` block is a file, named in the line above it; a `sh` block is commands, a line each; a `json` block below
 * is what the last of them prints.
 * @throws Error when a file has no name, or an output no command
 */
export function readSteps(text: string = readFileSync(join(ROOT, TUTORIAL), "utf8")): Step[] {
  const lines = text.split("\n");
  const steps: Step[] = [];
  for (const { language, code, line } of codeBlocksOf(text)) {
    if (language === "ts") steps.push({ kind: "write", file: fileNamedAbove(lines, line), text: `${code}\n` });
    if (language === "sh") for (const command of code.split("\n")) steps.push({ kind: "run", command, prints: null });
    if (language !== "json") continue;
    const last = steps.at(-1);
    if (last?.kind !== "run") throw new Error(`expected a command above the output in line ${line}, got none`);
    steps[steps.length - 1] = { ...last, prints: code };
  }
  return steps;
}

function fileNamedAbove(lines: readonly string[], line: number): string {
  const above = lines.slice(0, line - 2).findLast((text) => text !== "");
  const name = /^`([\w-]+\.ts)`:$/.exec(above ?? "")?.[1];
  if (name === undefined) throw new Error(`expected the name of a file above line ${line}, got ${above}`);
  return name;
}
