import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import type { Summary } from "../src/summary.ts";

const MAIN = new URL("../src/main.ts", import.meta.url);

/** Starts the dev stack as `npm start` does. */
export function startStack(args: string[], env: Record<string, string>): ChildHandle {
  return spawnNode(MAIN, { args, env });
}

/** Runs the dev stack to its end, with a data folder of its own. */
export async function runStack(
  args: string[],
  env: Record<string, string>,
): Promise<{ code: number | null; summary: Summary; stderr: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), "toolctrl-stack-"));
  const child = startStack([...args, "--data", dataDir], env);
  const { code } = await child.waitForExit({ timeoutMs: 150_000 });
  const document = child.stdout().trim();
  return { code, summary: JSON.parse(document === "" ? "{}" : document) as Summary, stderr: child.stderr() };
}

/** Pids of processes whose command line or working directory names a text. */
export async function processesNaming(text: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command.includes(text) && pid !== String(process.pid)) found.push(`${pid} ${command.replaceAll("\0", " ")}`);
  }
  return found;
}
