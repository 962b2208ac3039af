import { setTimeout as delay } from "node:timers/promises";
import type { ChildHandle, Exit } from "./process.ts";

export interface HerdOptions {
  readonly size: number;
  /** Starts one more process, and resolves when it works. */
  readonly start: () => Promise<ChildHandle>;
  readonly killEveryMs: number;
  /** Numbers from 0 to below 1: they choose who is killed. */
  readonly random: () => number;
}

/** Processes of one kind, one of which is killed again and again, and replaced. */
export interface Herd {
  readonly kills: () => number;
  /** Kills nobody more, ends all by SIGTERM, and tells how they ended: with 0 unless one had ended by itself. */
  stop(): Promise<Exit[]>;
}

/** Starts `size` processes; from then on, at each beat, one of them gets a SIGKILL and another one is started in its place. */
export async function startHerd({ size, start, killEveryMs, random }: HerdOptions): Promise<Herd> {
  const stopping = new AbortController();
  const working = await Promise.all(Array.from({ length: size }, start));
  let kills = 0;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await delay(killEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      const [victim] = stopping.signal.aborted ? [] : working.splice(Math.floor(random() * working.length), 1);
      if (victim === undefined) continue;
      kills += 1;
      victim.kill("SIGKILL");
      await victim.waitForExit();
      // Waited for: on a slow machine all would otherwise be starting, and nobody working.
      working.push(await start());
    }
  }

  const running = run();
  // Told by `stop`; a test that fails before it must not leave the rejection to nobody.
  running.catch(() => undefined);
  return {
    kills: () => kills,
    async stop() {
      stopping.abort();
      await running;
      for (const child of working) child.kill("SIGTERM");
      return Promise.all(working.map((child) => child.waitForExit()));
    },
  };
}

/** Numbers from 0 to below 1, the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of a run: what the variable says, to play a failure again, else a new one; printed either way. */
export function seedOf(variable: string): number {
  const seed = Number(process.env[variable] ?? Math.floor(Math.random() * 2 ** 31));
  process.stdout.write(`${variable}=${seed}\n`);
  return seed;
}
