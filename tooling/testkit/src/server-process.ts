import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import type { RunAs } from "./run-as.ts";

const TAIL_LINES = 40;

/** A server that has said it is ready. */
export interface ServerProcess {
  readonly pid: number;
  /** Settles when the process has ended, whatever the reason. */
  readonly ended: Promise<void>;
  signal(name: NodeJS.Signals): void;
}

export interface LaunchOptions {
  command: string;
  args: string[];
  cwd: string;
  as?: RunAs;
  /** What the line looks like that says it takes connections. */
  ready: RegExp;
  timeoutMs?: number;
  log?: ((line: string) => void) | undefined;
}

/**
 * Starts a server in a session of its own (a terminal's Ctrl-C does not reach it: its owner decides when it ends) and waits
 * until it is ready. Throws an error with the server's last lines when it ends or stays silent instead.
 */
export async function launchServer(options: LaunchOptions): Promise<ServerProcess> {
  const { command, args, cwd, as = {} } = options;
  // LC_ALL: the ready line must be in English.
  const env = { PATH: process.env.PATH, LC_ALL: "C" };
  const child = spawn(command, args, { ...as, cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  await becomesReady(child, options);
  const { pid } = child;
  if (pid === undefined) throw new Error(`expected ${command} to have a process id, got none`);
  return { pid, ended, signal: (name) => void child.kill(name) };
}

function becomesReady(child: ChildProcess, options: LaunchOptions): Promise<void> {
  const { command, ready, timeoutMs = 30_000, log } = options;
  const tail: string[] = [];
  return new Promise<void>((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer);
      reject(new Error(`expected ${command} to become ready, got ${why}\n${tail.join("\n")}`, { cause }));
    };
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      fail(`nothing of the kind in ${timeoutMs} ms`);
    }, timeoutMs);
    child.once("error", (error) => fail(error.message, error));
    // "close" comes after the last line of output, "exit" can come before it.
    child.once("close", (code, signal) => fail(`its end with ${signal ?? code}`));
    onLines(child, (line) => {
      log?.(line);
      if (tail.push(line) > TAIL_LINES) tail.shift();
      if (!ready.test(line)) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function onLines(child: ChildProcess, take: (line: string) => void): void {
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on("line", take);
  }
}
