import { describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import type { DrainerMode } from "../sql/read-mode.ts";

/** What moves events out: the batch dispatcher, or the pull workers. */
export interface Drainer {
  start(): void;
  wake(): void;
  /** Claims nothing more; resolves when what was claimed is settled or given back, or rejects when `graceMs` are over. */
  close(graceMs: number): Promise<void>;
  /** Prolongs its claims no longer, whenever they were made: a handler that hangs must not hold up a switch for ever. */
  letGo(): void;
}

/** Makes each drainer anew whenever it is its turn. */
export type DrainerFactories = Readonly<Record<DrainerMode["mode"], () => Drainer>>;

/** Holds the one drainer that this process runs, and those that are on their way out. */
export interface DrainerSlot {
  readonly running: DrainerMode["mode"] | null;
  /** Runs this drainer and no other; null runs none. Does not wait for the one before: its claims are waited for in the database. */
  run(mode: DrainerMode["mode"] | null): void;
  wake(): void;
  close(graceMs: number): Promise<void>;
}

export interface SlotOptions {
  /** Time a drainer that is switched off gets to settle what it has claimed; then it is told to let go. */
  readonly leaveMs: number;
  readonly log: Logger;
}

export function createDrainerSlot(drainers: DrainerFactories, options: SlotOptions): DrainerSlot {
  const { leaveMs, log } = options;
  let current: { mode: DrainerMode["mode"]; drainer: Drainer } | null = null;
  const leaving = new Map<Drainer, Promise<void>>();

  function leave(): void {
    if (current === null) return;
    const { mode, drainer } = current;
    current = null;
    const ended = drainer
      .close(leaveMs)
      .catch((error: unknown) => {
        log.warn(
          { mode, error: describeError(error) },
          "the drainer that was switched off has not ended in time: its claims are left to their leases",
        );
        drainer.letGo();
      })
      .finally(() => leaving.delete(drainer));
    leaving.set(drainer, ended);
  }

  return {
    get running() {
      return current?.mode ?? null;
    },
    run(mode) {
      if (current?.mode === mode) return;
      leave();
      if (mode === null) return;
      current = { mode, drainer: drainers[mode]() };
      current.drainer.start();
    },
    wake: () => current?.drainer.wake(),
    async close(graceMs) {
      const last = current?.drainer;
      current = null;
      await Promise.all([last?.close(graceMs), ...leaving.values()]);
    },
  };
}
