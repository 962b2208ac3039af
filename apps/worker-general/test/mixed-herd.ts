import { setTimeout as delay } from "node:timers/promises";
import type { Exit } from "@toolctrl/testkit/process";
import type { Worker } from "./worker.ts";

export interface MixedHerdOptions {
  /** Starts the process of each place, the first time and after each kill; resolves when it works. */
  readonly places: ReadonlyArray<() => Promise<Worker>>;
  readonly killEveryMs: number;
  /** Numbers from 0 to below 1: they choose who is killed. */
  readonly random: () => number;
}

/** Processes of several kinds, of which one is killed again and again, and started again in its place. */
export interface MixedHerd {
  /** How often each place was killed. */
  readonly kills: () => readonly number[];
  /** Kills nobody more, ends all by SIGTERM, and tells how they ended. */
  stop(): Promise<Exit[]>;
}

/**
 * Starts a process at each place; at each beat one of them gets a SIGKILL. A beat is put off until the one before is replaced, so that on
 * a slow machine not all are starting and nobody works.
 */
export async function startMixedHerd({ places, killEveryMs, random }: MixedHerdOptions): Promise<MixedHerd> {
  const stopping = new AbortController();
  const beat = (): Promise<void> => delay(killEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
  const working = await Promise.all(places.map((start) => start()));
  const kills = places.map(() => 0);

  async function replace(place: number): Promise<void> {
    const start = places[place];
    const victim = working[place];
    if (start === undefined || victim === undefined) return;
    kills[place] = (kills[place] ?? 0) + 1;
    victim.kill("SIGKILL");
    await victim.waitForExit();
    working[place] = await start();
  }

  async function run(): Promise<void> {
    await beat();
    while (!stopping.signal.aborted) await Promise.all([beat(), replace(Math.floor(random() * places.length))]);
  }

  const running = run();
  // Told by `stop`; a test that fails before it must not leave the rejection to nobody.
  running.catch(() => undefined);
  return {
    kills: () => kills,
    async stop() {
      stopping.abort();
      await running;
      for (const worker of working) worker.kill("SIGTERM");
      return Promise.all(working.map((worker) => worker.waitForExit()));
    },
  };
}
