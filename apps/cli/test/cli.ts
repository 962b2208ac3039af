import { fileURLToPath } from "node:url";
import { spawnCommand, spawnNode, type ChildHandle, type SpawnOptions } from "@toolctrl/testkit/process";

const MAIN = new URL("../src/main.ts", import.meta.url);
export const CLI_WITH_PARTS = new URL("./cli-with-parts.ts", import.meta.url);

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The one JSON document of the output. */
  json(): Record<string, unknown>;
}

/** Runs the CLI, or another composition of it, as a process of its own, without a terminal. */
export async function cli(args: string[], env: Record<string, string | undefined>, main = MAIN): Promise<CliResult> {
  return resultOf(spawnNode(main, { args, env }));
}

/** The same with more of Node's own arguments, and with a text on the standard input. */
export async function cliWith(args: string[], options: Pick<SpawnOptions, "env" | "input" | "nodeArgs">): Promise<CliResult> {
  return resultOf(spawnNode(MAIN, { args, ...options }));
}

/** Runs a line that begins with `toolctrl-cli` in a POSIX shell. */
export async function cliInShell(line: string, env: Record<string, string | undefined>): Promise<CliResult> {
  const script = line.replace(/^toolctrl-cli/, `"$NODE" --conditions=source "$MAIN"`);
  return resultOf(spawnCommand("sh", ["-c", script], { env: { ...env, NODE: process.execPath, MAIN: fileURLToPath(MAIN) } }));
}

async function resultOf(child: ChildHandle): Promise<CliResult> {
  const { code } = await child.waitForExit();
  const stdout = child.stdout();
  return { code, stdout, stderr: child.stderr(), json: () => JSON.parse(stdout) as Record<string, unknown> };
}
