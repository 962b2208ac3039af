import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "./deadline.ts";
import type { Logger } from "./logger.ts";

/** What the scope closes. `close` gets the time (ms) it may take; it is given up after that. */
export interface Closable {
  close(graceMs: number): Promise<void>;
}

export interface Scope {
  /** Registers a resource; the last one added is the first one closed. Added while stopping, it is closed at once. Returns it. */
  add<T extends Closable>(name: string, resource: T): T;
  /** Aborts when the process is told to stop. */
  readonly stopping: AbortSignal;
  isStopping(): boolean;
  /** Stops as a signal does, for a process whose work is done; it exits with `exitCode`. */
  finish(exitCode: number): void;
}

/** Resources that stop at the same time: none of them takes new work while another one still finishes its own. */
export function together(...resources: Closable[]): Closable {
  return {
    async close(graceMs) {
      const ends = await Promise.allSettled(resources.map((resource) => resource.close(graceMs)));
      const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
      if (errors.length > 0) throw new AggregateError(errors, errors.map((error) => describeError(error)).join("; "));
    },
  };
}

/** Kept back for each resource that still waits for its turn, so that one that hangs does not leave the others without time. */
const RESERVE_SHARE = 0.05;
/** Part of its time a resource is told it has; the rest is for what it does when that is over (a forced close). */
const TOLD_SHARE = 0.9;

/**
 * Runs `main`, then waits for SIGTERM or SIGINT, closes what `main` added in reverse order within `graceMs` in all, and exits with 0.
 * A second signal changes nothing. When `main` throws, or a rejection or exception is caught by nobody, it is logged, everything is
 * closed and the process exits with 1. Never resolves.
 */
export async function runUntilSignal(main: (scope: Scope) => Promise<void>, options: { graceMs: number; log: Logger }): Promise<never> {
  const { graceMs, log } = options;
  const stop = createStop(graceMs, log);
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => stop.begin(0, `got ${signal}`));
  }
  process.on("unhandledRejection", (reason) => {
    log.fatal({ err: reason }, "a rejection was handled by nobody");
    stop.begin(1, "unhandled rejection");
  });
  process.on("uncaughtException", (error) => {
    log.fatal({ err: error }, "an exception was caught by nobody");
    stop.begin(1, "uncaught exception");
  });
  main(stop.scope).catch((error: unknown) => {
    // Told to stop while it starts, main may fail on what is being closed under it; that is no fault of its own.
    if (stop.scope.isStopping()) return log.warn({ err: error }, "starting was cut short");
    log.fatal({ err: error }, "starting failed");
    stop.begin(1, "starting failed");
  });
  // Without it, a main that leaves nothing open would end the process before any signal.
  setInterval(() => undefined, 2 ** 30);
  return await new Promise<never>(() => undefined);
}

function createStop(graceMs: number, log: Logger): { scope: Scope; begin(exitCode: number, why: string): void } {
  const resources: Array<{ name: string; resource: Closable }> = [];
  const stopping = new AbortController();
  let exitCode = 0;
  const scope: Scope = {
    add(name, resource) {
      resources.push({ name, resource });
      return resource;
    },
    stopping: stopping.signal,
    isStopping: () => stopping.signal.aborted,
    finish: (code) => begin(code, "finished"),
  };

  function begin(code: number, why: string): void {
    exitCode = Math.max(exitCode, code);
    if (stopping.signal.aborted) return log.info({ why }, "already stopping");
    log.info({ why, graceMs }, "stopping");
    stopping.abort(new Error(why));
    // closeAll settles whatever the resources do.
    void closeAll(resources, graceMs, log).then(() => {
      log.info({ exitCode }, "stopped");
      process.exit(exitCode);
    });
  }

  return { scope, begin };
}

async function closeAll(resources: Array<{ name: string; resource: Closable }>, graceMs: number, log: Logger): Promise<void> {
  const endsAt = performance.now() + graceMs;
  for (let next = resources.pop(); next !== undefined; next = resources.pop()) {
    const left = Math.max(0, endsAt - performance.now());
    const share = Math.max(left / (resources.length + 1), left - resources.length * graceMs * RESERVE_SHARE);
    await closeOne(next.name, next.resource, Math.floor(share), log);
  }
}

async function closeOne(name: string, resource: Closable, ms: number, log: Logger): Promise<void> {
  const startedAt = performance.now();
  try {
    await withDeadline(
      Promise.resolve().then(() => resource.close(Math.floor(ms * TOLD_SHARE))),
      ms,
      () => new Error(`expected ${name} to close within ${ms} ms, it did not`),
    );
    log.debug({ name, ms: Math.round(performance.now() - startedAt) }, "closed");
  } catch (error) {
    log.error({ err: error, name }, "closing failed; going on");
  }
}

/** Runs a main file when it is the program that was started, and not when another one imports it to run it with parts of its own. */
export function runAsProgram(meta: ImportMeta, main: () => Promise<unknown>): void {
  if (meta.main) void main();
}
