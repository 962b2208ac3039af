import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { compileCacheEnv } from "./compile-cache.ts";
import { track } from "./tracked.ts";
import { waitFor } from "./wait.ts";
import { startWatchdog } from "./watchdog.ts";

export interface SpawnOptions {
  args?: string[];
  /** The child's environment; of ours it gets PATH, HOME, TMPDIR and LANG only. */
  env?: Record<string, string | undefined>;
  /** Export conditions; the default is `["source"]`. */
  conditions?: string[];
  /** More arguments of Node itself, e.g. `["--import", preload]`. */
  nodeArgs?: string[];
  cwd?: string;
  /** What the child reads on its standard input; without it the input is empty. */
  input?: string;
  /** Opens a channel to a Node child, and is given what it says there (`process.send`). */
  onMessage?: (message: unknown) => void;
  /** The user and group the child runs as; without them ours. */
  uid?: number;
  gid?: number;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface ChildHandle {
  readonly pid: number;
  /** Every whole line of output and error output so far, as it came. */
  lines(): readonly string[];
  /** All output so far, without the error output. */
  stdout(): string;
  stderr(): string;
  /** The first line that matches, among those of the past from index `after` on and those to come; waits up to 30 s. */
  waitForLine(pattern: RegExp, options?: { after?: number; timeoutMs?: number }): Promise<string>;
  /** How the child ended, with all its output read; waits up to 60 s. */
  waitForExit(options?: { timeoutMs?: number }): Promise<Exit>;
  /** Sends a signal to the child; with `group`, as Ctrl-C does, to its descendants too. */
  kill(signal?: NodeJS.Signals, options?: { group?: boolean }): void;
  /** Whether the child or a descendant of it (in its process group) still lives. */
  groupAlive(): boolean;
  /** Says something to a child with a channel. One that has ended does not hear it. */
  send(message: object): void;
}

const INHERITED = ["PATH", "HOME", "TMPDIR", "LANG"];
const SHOWN_LINES = 40;

/**
 * Runs a script with Node in a process group of its own. The whole group is killed at the end of the test file. It shares what it compiles
 * with the run's other Node processes; one that is killed leaves nothing new there.
 */
export function spawnNode(script: string | URL, options: SpawnOptions = {}): ChildHandle {
  const { args = [], conditions = ["source"], nodeArgs = [] } = options;
  const path = script instanceof URL ? fileURLToPath(script) : script;
  return spawnCommand(process.execPath, [...conditions.map((name) => `--conditions=${name}`), ...nodeArgs, path, ...args], {
    ...options,
    env: { ...compileCacheEnv(), ...options.env },
  });
}

/** Runs any program the same way. */
export function spawnCommand(
  command: string,
  args: string[],
  options: Pick<SpawnOptions, "env" | "cwd" | "input" | "onMessage" | "uid" | "gid"> = {},
): ChildHandle {
  const inherited = Object.fromEntries(INHERITED.map((name) => [name, process.env[name]]));
  const child = spawn(command, args, {
    cwd: options.cwd,
    uid: options.uid,
    gid: options.gid,
    env: { ...inherited, ...options.env },
    detached: true,
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe", ...(options.onMessage === undefined ? [] : ["ipc" as const])],
  });
  if (options.onMessage !== undefined) child.on("message", options.onMessage);
  child.stdin?.on("error", () => undefined);
  child.stdin?.end(options.input);
  const { pid } = child;
  if (pid === undefined) {
    // The reason comes as an event; without a listener it would end this process.
    child.once("error", () => undefined);
    throw new Error(`expected ${command} to start, got no process; check the path and the working directory`);
  }
  const output = collectOutput(child);
  return handleOf({ child, pid, output, what: `${command} ${args.join(" ")}` });
}

interface Output {
  lines: string[];
  stdout: string;
  stderr: string;
}

function collectOutput(child: ChildProcess): Output {
  const output: Output = { lines: [], stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    const stream = child[name];
    if (stream === null) continue;
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => void (output[name] += chunk));
    createInterface({ input: stream }).on("line", (line) => output.lines.push(line));
  }
  return output;
}

function handleOf(parts: { child: ChildProcess; pid: number; output: Output; what: string }): ChildHandle {
  const { child, pid, output, what } = parts;
  const watchdog = startWatchdog({ signal: "KILL" });
  watchdog.guard(-pid);
  const ended = endOf(child);
  let exit: Exit | null = null;
  const groupAlive = (): boolean => send(-pid, 0);
  const untrack = track(`the process ${pid} (${what})`, async () => {
    send(-pid, "SIGKILL");
    await ended;
    await watchdog.close();
  });
  void settle();
  async function settle(): Promise<void> {
    exit = await ended;
    if (groupAlive()) return;
    // Nobody is left to kill, and the id may soon be somebody else's.
    untrack();
    watchdog.guard(0);
    await watchdog.close();
  }
  const shown = (): string => `\n${output.lines.slice(-SHOWN_LINES).join("\n")}`;
  return {
    pid,
    lines: () => output.lines,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    groupAlive,
    send(message) {
      // Of an end of the channel its listener hears; the callback keeps it from being an error of the process.
      if (child.connected) child.send(message, () => undefined);
    },
    kill(signal = "SIGKILL", { group = false } = {}) {
      if (exit === null || group) send(group ? -pid : pid, signal);
    },
    async waitForLine(pattern, { after = 0, timeoutMs = 30_000 } = {}) {
      const find = (): string | undefined => output.lines.slice(after).find((line) => pattern.test(line));
      const line = await waitFor(() => find() ?? exit, { timeoutMs, what: `a line like ${pattern} from ${what}` }).catch(
        (cause: unknown) => {
          throw new Error(`${String(cause)}; its last lines:${shown()}`, { cause });
        },
      );
      const found = typeof line === "string" ? line : find();
      if (found === undefined)
        throw new Error(`expected a line like ${pattern}, got the end of ${what} ${JSON.stringify(exit)}:${shown()}`);
      return found;
    },
    async waitForExit({ timeoutMs = 60_000 } = {}) {
      return waitFor(() => exit, { timeoutMs, what: `${what} to end` }).catch((cause: unknown) => {
        throw new Error(`${String(cause)}; its last lines:${shown()}`, { cause });
      });
    },
  };
}

// "close" says that all output was read. A descendant that outlives the child keeps the output open: then it is not waited for.
async function endOf(child: ChildProcess): Promise<Exit> {
  const closed = once(child, "close");
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([closed, new Promise((resolve) => void (timer = setTimeout(resolve, 1000)))]);
  clearTimeout(timer);
  return { code, signal };
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}
