import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The programs that make a namespace and become another user in it, by their paths: the image's own PATH has neither. */
export interface Isolation {
  readonly unshare: string;
  readonly setpriv: string;
}

/**
 * What it takes to start a program as the first process of a PID namespace, which it is in a container: there a signal that it does not handle
 * does nothing, and one that a process in front of it keeps never arrives. Null where this machine does not allow it.
 */
export async function findIsolation(): Promise<Isolation | null> {
  const [unshare, setpriv] = [findProgram("unshare"), findProgram("setpriv")];
  if (process.getuid?.() !== 0 || unshare === undefined || setpriv === undefined) return null;
  const allowed = await run(unshare, ["--pid", "--fork", "--kill-child", setpriv, "--reuid=1000", process.execPath, "--version"]).then(
    () => true,
    () => false,
  );
  return allowed ? { unshare, setpriv } : null;
}

function findProgram(name: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** The words that start a program so. `setpriv` becomes the program, and leaves no process in front of it. */
export function asFirstProcess({ unshare, setpriv }: Isolation, user: number, words: readonly string[]): string[] {
  return [unshare, "--pid", "--fork", "--kill-child", setpriv, `--reuid=${user}`, `--regid=${user}`, "--clear-groups", ...words];
}

/**
 * Sends a signal to the first process of the namespace that a child has made, as an engine does, and not to the child.
 * @throws Error when it is not the first there
 */
export function signalFirstProcess(child: number, signal: NodeJS.Signals): void {
  const first = readFileSync(`/proc/${child}/task/${child}/children`, "utf8").trim();
  const [, inside = "none"] = /^NSpid:\s+\d+\s+(\d+)$/m.exec(readFileSync(`/proc/${first}/status`, "utf8")) ?? [];
  if (inside !== "1") throw new Error(`expected process ${first} to be the first of its namespace, got number ${inside}`);
  process.kill(Number(first), signal);
}
