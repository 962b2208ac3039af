import { createContext, Script, type Context } from "node:vm";

/** The code was still running when its time was over. */
export class Timeout extends Error {
  readonly milliseconds: number;

  constructor(milliseconds: number) {
    super(`expected the code to end within ${milliseconds} ms, got no end`);
    this.name = "Timeout";
    this.milliseconds = milliseconds;
  }
}

/** How often code is run when the machine pauses again and again. */
const RUNS = 5;
/** Below this share of its time on a processor, code was not slow: it was not running. */
const BUSY_SHARE = 0.5;

let room: { readonly context: Context; readonly script: Script } | undefined;

/**
 * Runs synchronous code under a hard time limit. The engine stops it wherever it is, also inside a regular expression or an endless loop,
 * and neither `catch` nor `finally` of the code sees that: state which it has left half-written is to be thrown away.
 *
 * The limit is wall-clock time. When the process was hardly on a processor meanwhile (the machine was paused, or the container's share used
 * up), the code is run again, so it must be repeatable; after five times the limit it is over either way. A busy code is never run again.
 *
 * @throws Timeout when it has not ended in time, and whatever the code throws
 */
export function runBounded<T>(milliseconds: number, work: () => T): T {
  for (let run = 1; ; run += 1) {
    const before = process.cpuUsage();
    try {
      return runOnce(milliseconds, work);
    } catch (error) {
      if (!isInterruption(error)) throw error;
      const { user, system } = process.cpuUsage(before);
      const busyMs = (user + system) / 1000;
      if (run >= RUNS || busyMs >= milliseconds * BUSY_SHARE) throw new Timeout(milliseconds);
    }
  }
}

function runOnce<T>(timeout: number, work: () => T): T {
  // The script is one call: what is limited is the host's function, on the host's own objects. No code of anybody else is run in the context.
  room ??= { context: createContext({ work: undefined }), script: new Script("work()") };
  const outer: unknown = room.context["work"];
  room.context["work"] = work;
  try {
    return room.script.runInContext(room.context, { timeout, displayErrors: false }) as T;
  } finally {
    room.context["work"] = outer;
  }
}

function isInterruption(error: unknown): boolean {
  // No `instanceof`: the error is one of the context's own, made from that context's Error.
  return typeof error === "object" && error !== null && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
}
