import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitFor } from "@toolctrl/testkit/wait";
import { openShell, type Shell } from "./open-shell.ts";
import { readSteps, type Step } from "./read-steps.ts";

export interface TutorialOptions {
  /** Where the reader begins: an empty folder. */
  readonly folder: string;
  /** What the document asks the reader to set, and PATH. */
  readonly env: NodeJS.ProcessEnv;
  readonly steps?: readonly Step[];
  /** Commands that are not run, because what they do is done. */
  readonly skip?: RegExp;
}

/**
 * Does what the tutorial says, as it stands there, and compares what is printed with what it shows.
 * @returns the outputs that were compared
 * @throws Error at the first command that fails, or prints something else
 */
export async function followTutorial({ folder, env, steps = readSteps(), skip }: TutorialOptions): Promise<string[]> {
  const shell = openShell({ folder, env });
  const outputs: string[] = [];
  try {
    for (const step of steps) {
      if (step.kind === "write") writeFileSync(join(folder, step.file), step.text);
      else if (!skip?.test(step.command)) outputs.push(...(await runStep(shell, step)));
    }
    return outputs;
  } catch (error) {
    throw new Error(`${String(error)}\n${logsOf(folder, steps)}`, { cause: error });
  } finally {
    await shell.close();
  }
}

async function runStep(shell: Shell, { command, prints }: Extract<Step, { kind: "run" }>): Promise<string[]> {
  if (prints === null) {
    await shell.run(command);
    return [];
  }
  const expected = withoutIds(prints);
  // "A moment later": what only asks may be asked again, what places an order may not.
  const timeoutMs = command.includes("POST") ? 0 : 30_000;
  let output = "";
  const check = async (): Promise<boolean> => {
    output = withoutIds((await shell.run(command)).trim());
    return output === expected;
  };
  await waitFor(check, { timeoutMs, what: `\`${command}\` to print ${expected}` }).catch((error: unknown) => {
    throw new Error(`expected \`${command}\` to print ${expected}, got ${output}`, { cause: error });
  });
  return [output];
}

function withoutIds(text: string): string {
  return text.replaceAll(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, "<id>");
}

/** What the programs that were left running have said: the commands' own output does not tell why an effect is missing. */
function logsOf(folder: string, steps: readonly Step[]): string {
  const names = steps.flatMap((step) => (step.kind === "run" ? (/>\s*(\S+\.log)/.exec(step.command)?.[1] ?? []) : []));
  return [...new Set(names)].map((name) => `${name}: ${readLog(join(folder, name))}`).join("\n");
}

function readLog(path: string): string {
  try {
    return readFileSync(path, "utf8").slice(-4000);
  } catch {
    return "not there";
  }
}
