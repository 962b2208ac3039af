import { spawnNode } from "@toolctrl/testkit/process";

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
  const child = spawnNode(main, { args, env });
  const { code } = await child.waitForExit();
  const stdout = child.stdout();
  return { code, stdout, stderr: child.stderr(), json: () => JSON.parse(stdout) as Record<string, unknown> };
}
