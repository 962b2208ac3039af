import { describeError } from "@toolctrl/foundation/errors";
import type { Queryable } from "@toolctrl/db/sql";
import type { Logger } from "@toolctrl/runtime/logger";
import { settleApart } from "../attempt/settle-apart.ts";
import type { Settled } from "../attempt/settled.ts";
import type { ClaimedEvent } from "../claimed-event.ts";
import { describeHold, HELD_CODE, type Hold } from "./hold.ts";
import { holdDueEvents } from "./sql/hold-due-events.ts";
import { holdFollowers } from "./sql/hold-followers.ts";

/** Puts off the events of held routes, as snoozes: nothing is counted, the events keep their lines, and others go on. */
export interface EventHolder {
  /** What holds an event of this type, or null. */
  holdOf(eventType: string): Hold | null;
  /** Ends the claim of such an event, and puts off with it what else is due of its type. Never throws. */
  hold(event: ClaimedEvent, hold: Hold): Promise<Settled>;
  /** Told when nothing among a tenant's oldest due events could be claimed: puts off those of them that stand behind held ones. Never throws. */
  clearWindow(tenantId: string): Promise<void>;
}

/** A held event is released by what ends its hold; this is when it is looked at again should nobody do so, ms. */
export const HOLD_MS = 24 * 60 * 60 * 1000;
/** After a look that found nothing behind held events, a tenant is left alone for so long, ms. */
const LOOK_AGAIN_MS = 10_000;
const MAX_TENANTS_REMEMBERED = 64;

export function createEventHolder(deps: { pool: Queryable; holdOf: (eventType: string) => Hold | null; log: Logger }): EventHolder {
  const { pool, holdOf, log } = deps;
  const told = new Set<string>();
  const notBefore = new Map<string, number>();

  async function hold(event: ClaimedEvent, why: Hold): Promise<Settled> {
    const { id, lockToken, tenantId, eventType } = event;
    const error = describeHold(why);
    tell(eventType, why);
    const settlement = { id, lockToken, outcome: "snooze", delayMs: HOLD_MS, errorCode: HELD_CODE, error } as const;
    const settled = await settleApart(pool, event, settlement, log);
    // What a failure leaves is put off when the next one of them is claimed.
    if (settled.fate === "kept") await quietly(() => holdDueEvents(pool, { tenantId, eventType, delayMs: HOLD_MS, error }));
    return settled;
  }

  async function clearWindow(tenantId: string): Promise<void> {
    const now = performance.now();
    if (now < (notBefore.get(tenantId) ?? 0)) return;
    if ((await quietly(() => holdFollowers(pool, tenantId))) > 0) return;
    notBefore.delete(tenantId);
    notBefore.set(tenantId, now + LOOK_AGAIN_MS);
    const [oldest] = notBefore.keys();
    if (notBefore.size > MAX_TENANTS_REMEMBERED && oldest !== undefined) notBefore.delete(oldest);
  }

  function tell(eventType: string, why: Hold): void {
    if (told.has(eventType)) return;
    told.add(eventType);
    log.info({ eventType, ...why }, "the events of this type are held: pull workers do not hand them off");
  }

  async function quietly(run: () => Promise<number>): Promise<number> {
    try {
      return await run();
    } catch (error) {
      log.warn({ error: describeError(error) }, "could not put off the events of a held route");
      return 0;
    }
  }

  return { holdOf, hold, clearWindow };
}
