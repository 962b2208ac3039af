import { withDeadline } from "@toolctrl/runtime/deadline";

export interface Ticker {
  start(): void;
  /** Ends the present pause; given while a tick runs, another one follows it. */
  wake(): void;
  /** No further tick; resolves when the running one has ended or `graceMs` are over. */
  close(graceMs: number): Promise<void>;
}

/** Runs `tick` again and again, one at a time, with a pause of `intervalMs` that `wake` cuts short. */
export function createTicker(options: {
  /** A function is asked before each pause. */
  intervalMs: number | (() => number);
  tick: () => Promise<unknown>;
  onWake: (source: "hint" | "poll") => void;
  onError: (error: unknown) => void;
}): Ticker {
  let running: Promise<void> | undefined;
  let closed = false;
  let woken = false;
  let endPause: (() => void) | undefined;

  function wake(): void {
    woken = true;
    endPause?.();
  }

  function pause(): Promise<void> {
    if (woken || closed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, typeof options.intervalMs === "number" ? options.intervalMs : options.intervalMs());
      endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function loop(): Promise<void> {
    while (!closed) {
      woken = false;
      try {
        await options.tick();
      } catch (error) {
        options.onError(error);
      }
      await pause();
      options.onWake(woken ? "hint" : "poll");
    }
  }

  return {
    start() {
      running ??= loop();
    },
    wake,
    async close(graceMs) {
      closed = true;
      endPause?.();
      if (running !== undefined) {
        await withDeadline(running, graceMs, () => new Error(`expected the running tick to end within ${graceMs} ms, it did not`));
      }
    },
  };
}
