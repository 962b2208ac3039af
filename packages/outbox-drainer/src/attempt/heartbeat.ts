import type { Queryable } from "@toolctrl/db/sql";
import { CodedError, describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import { extendLease } from "./extend-lease.ts";

export interface Protection {
  /** Aborts when the claim turned out to belong to somebody else. */
  readonly signal: AbortSignal;
  /** Prolongs the claim at once; false when it is lost. */
  beat(): Promise<boolean>;
  stop(): void;
}

export interface Heartbeat {
  /** @param until once this has aborted, the claim is prolonged no longer, and runs out unless it is settled before */
  protect(claim: { readonly id: string; readonly lockToken: string }, until?: AbortSignal): Protection;
}

/** A claim is prolonged this often within its lease, and a beat that failed is tried again sooner. */
const BEATS_PER_LEASE = 3;
const TRIES_PER_BEAT = 4;

/** Prolongs claims while their attempts run, on connections that no attempt uses: a busy process must not look like a dead one. */
export function createHeartbeat(deps: { pool: Queryable; leaseMs: number; log: Logger }): Heartbeat {
  const { pool, leaseMs, log } = deps;
  const everyMs = leaseMs / BEATS_PER_LEASE;
  return { protect };

  function protect(claim: { readonly id: string; readonly lockToken: string }, until?: AbortSignal): Protection {
    const lost = new AbortController();
    let stopped = false;
    let timer = setTimeout(() => void run(), everyMs);

    async function beat(): Promise<boolean> {
      if (await extendLease(pool, claim, leaseMs)) return true;
      // After the end of the attempt there is nothing to prolong, and nothing was lost.
      if (!stopped) lost.abort(leaseLost(claim.id));
      return false;
    }
    async function run(): Promise<void> {
      if (until?.aborted) return;
      try {
        if (await beat()) schedule(everyMs);
      } catch (error) {
        if (!stopped) log.warn({ eventId: claim.id, error: describeError(error) }, "a heartbeat failed, trying again");
        schedule(everyMs / TRIES_PER_BEAT);
      }
    }
    function schedule(pauseMs: number): void {
      if (!stopped) timer = setTimeout(() => void run(), pauseMs);
    }
    return {
      signal: lost.signal,
      beat,
      stop() {
        stopped = true;
        clearTimeout(timer);
      },
    };
  }
}

export function leaseLost(eventId: string): CodedError {
  return new CodedError("DB.LEASE_LOST", "expected the claim to be ours until it is settled, got another owner", { facts: { eventId } });
}
