import { randomUUID } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";
import { violatedConstraint } from "@toolctrl/db/client";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { ClaimedEvent } from "../claimed-event.ts";
import { readMode } from "../sql/read-mode.ts";
import { claimHead, type HeadClaim, type HeadCursor } from "./claim-head.ts";

/** Claims in a row that end at one of their bounds, or lose a race, before a loop pauses. */
const TRIES = 8;
/** Tenants whose place in the walk over line heads is remembered. */
const MAX_PLACES = 64;

export interface HeadClaimer {
  /** The epoch to claim under, or null while the mode is not `pull`. One read, unless a claim found it changed. */
  epoch(): Promise<bigint | null>;
  /** Claims one event; null when there is none to be had, or the mode is another one. */
  claim(): Promise<ClaimedEvent | null>;
}

/** Claims for all loops of a process: they share the place where the search goes on, so that none starves a tenant or a record. */
export function createHeadClaimer(deps: {
  pool: Queryable;
  leaseMs: number;
  /** Told of a tenant whose oldest due events fill the window, and none of them could be claimed. */
  clearWindow?: (tenantId: string) => Promise<void>;
  metrics: Metrics;
  log: Logger;
}): HeadClaimer {
  const { pool, leaseMs, metrics, log } = deps;
  const places = new Map<string, string>();
  let afterTenant = "";
  let known: bigint | null = null;

  async function epoch(): Promise<bigint | null> {
    if (known !== null) return known;
    const { mode, desired, epoch: now } = await readMode(pool);
    known = mode === "pull" && desired === "pull" ? now : null;
    return known;
  }

  async function claim(): Promise<ClaimedEvent | null> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const under = await epoch();
      if (under === null) return null;
      const result = await tryClaim(under);
      // The epoch is read again, once: when it is still `pull` the next try finds out.
      if (result === "raced") continue;
      if (result.kind === "closed") {
        known = null;
        continue;
      }
      goOnFrom(result.cursor);
      if (result.kind === "claimed") {
        metrics.add("outbox_claims_total", 1);
        log.debug({ eventId: result.event.id, recordKey: result.event.recordKey, epoch: String(under), mode: "pull" }, "event claimed");
        return result.event;
      }
      if (!result.more) return null;
      if (result.cursor.key !== null) await deps.clearWindow?.(result.cursor.tenant);
    }
    return null;
  }

  async function tryClaim(under: bigint): Promise<HeadClaim | "raced"> {
    try {
      return await claimHead(pool, { epoch: under, leaseMs, lockToken: randomUUID(), afterTenant, afterKeys: Object.fromEntries(places) });
    } catch (error) {
      // An older event of its line came back while we claimed it; the next look sees that.
      if (violatedConstraint(error) === "OutboxEvent_in_flight_key") return "raced";
      throw error;
    }
  }

  function goOnFrom({ tenant, key }: HeadCursor): void {
    afterTenant = tenant;
    if (key === null) return;
    places.delete(tenant);
    places.set(tenant, key);
    const [oldest] = places.keys();
    if (places.size > MAX_PLACES && oldest !== undefined) places.delete(oldest);
  }

  return { epoch, claim };
}
