import type { Queryable } from "@toolctrl/db/sql";
import { describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import { readMode } from "../sql/read-mode.ts";
import { createTicker } from "../ticker.ts";
import type { Hold } from "./hold.ts";
import { heldIndexReady } from "./sql/held-index-ready.ts";
import { listHeldTypes } from "./sql/list-held-types.ts";
import { FIRST_HELD, releaseHeldEvents, type HeldCursor } from "./sql/release-held-events.ts";

export interface HeldReleaseDeps {
  readonly db: Queryable;
  readonly holdOf: (eventType: string) => Hold | null;
  /** Called when events became due. */
  readonly wake: () => void;
  /** How often the mode is looked at, ms. Default 1000. */
  readonly intervalMs?: number;
  readonly log: Logger;
}

/** Makes held events due again as soon as nothing holds them any more. */
export interface HeldRelease {
  start(): void;
  /** One look. @returns how many events were released. */
  tick(): Promise<number>;
  close(graceMs: number): Promise<void>;
}

/**
 * While pull workers run, what is held is looked at this often, ms, and once when they begin: a hold ends there by a deployment (the
 * consumer comes into scope) or an operator (a head is cancelled). Processes of two versions may disagree for the time of a rollout;
 * more often than this they shall not move events to and fro.
 */
const PULL_EVERY_MS = 30_000;

/**
 * Every process that drains does this, in small steps that skip each other's rows; so it happens whichever of them lives. While the
 * dispatcher runs nothing is held, and one look into an empty index is all it costs.
 */
export function createHeldRelease(deps: HeldReleaseDeps): HeldRelease {
  const { db, holdOf, log } = deps;
  let canLook = false;
  let notBefore = 0;
  let closing = false;
  let failure: string | null = null;

  async function tick(): Promise<number> {
    canLook ||= await heldIndexReady(db);
    if (!canLook) return 0;
    const { mode, desired } = await readMode(db);
    if (mode !== desired) return 0;
    const released = mode === "batch" ? await releaseAll() : await releaseFree();
    failure = null;
    if (released === 0) return 0;
    log.info({ events: released, mode }, "held events are due again");
    deps.wake();
    return released;
  }

  function releaseAll(): Promise<number> {
    // Whenever pull workers begin again, they look at once.
    notBefore = 0;
    return walk(null);
  }

  async function releaseFree(): Promise<number> {
    if (performance.now() < notBefore) return 0;
    notBefore = performance.now() + PULL_EVERY_MS;
    const free = (await listHeldTypes(db)).filter((type) => holdOf(type) === null);
    return free.length === 0 ? 0 : walk(free);
  }

  async function walk(types: readonly string[] | null): Promise<number> {
    let released = 0;
    for (let after: HeldCursor | null = FIRST_HELD; after !== null && !closing;) {
      const page = await releaseHeldEvents(db, after, types);
      released += page.released;
      after = page.next;
    }
    return released;
  }

  const ticker = createTicker({
    intervalMs: deps.intervalMs ?? 1_000,
    tick,
    onWake: () => undefined,
    onError(error) {
      const said = describeError(error);
      if (failure !== said) log.warn({ error: said }, "could not release held events");
      failure = said;
    },
  });
  return {
    start: ticker.start,
    tick,
    async close(graceMs) {
      closing = true;
      await ticker.close(graceMs);
    },
  };
}
