import type { Closable } from "@toolctrl/runtime/run";

/** The runs that this process executes itself, and how they end with it. */
export interface RunsHere extends Closable {
  /** Aborts when the process is to end: no further step is begun. */
  readonly stopping: AbortSignal;
  /** Aborts when the time for that is nearly over: a call that is on its way is cut off. */
  readonly ending: AbortSignal;
  /** Closing waits for it. */
  track<T>(run: Promise<T>): Promise<T>;
}

/** Part of the grace period that a call on its way gets; the rest is for recording what came of it. */
const CALL_SHARE = 0.6;

export function createRunsHere(): RunsHere {
  const stopping = new AbortController();
  const ending = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    stopping: stopping.signal,
    ending: ending.signal,
    async track(run) {
      running.add(run);
      try {
        return await run;
      } finally {
        running.delete(run);
      }
    },
    async close(graceMs) {
      const why = new Error("its web process is to end");
      stopping.abort(why);
      const cut = setTimeout(() => ending.abort(why), graceMs * CALL_SHARE);
      await Promise.allSettled(running);
      clearTimeout(cut);
    },
  };
}
