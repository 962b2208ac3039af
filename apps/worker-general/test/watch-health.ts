import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Worker } from "./worker.ts";

export interface HealthWatch {
  /** Each answer of /readyz that differs from the one before, e.g. `[200, 503, 200]`. */
  readonly readiness: readonly number[];
  /** Every different answer of /healthz: `[200]` for a process that never looked dead. */
  liveness(): number[];
}

const EVERY_MS = 50;

/** Asks a worker for its health again and again, as a platform does, until the test ends. */
export function watchHealth(worker: Worker): HealthWatch {
  const readiness: number[] = [];
  const liveness = new Set<number>();
  let stopped = false;
  const note = (status: number): void => {
    if (readiness.at(-1) !== status) readiness.push(status);
  };
  const run = async (): Promise<void> => {
    while (!stopped) {
      const [live, ready] = await Promise.all([worker.status("/healthz"), worker.status("/readyz")]);
      if (stopped) return;
      liveness.add(live);
      note(ready);
      await delay(EVERY_MS);
    }
  };
  const running = run();
  onTestFinished(async () => {
    stopped = true;
    await running;
  });
  return { readiness, liveness: () => [...liveness] };
}
