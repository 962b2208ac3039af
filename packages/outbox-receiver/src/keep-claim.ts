import { CodedError } from "@toolctrl/foundation/errors";
import type { ReceiverLog } from "./receiver-log.ts";
import type { BoundIdempotencyStore } from "./store.ts";

/** An owned claim that is being renewed. `signal` aborts when it can no longer be shown to be ours. */
export interface KeptClaim {
  readonly signal: AbortSignal;
  stop(): void;
}

/** The parts of a delivery that every step of the protocol needs. */
export interface ClaimedDelivery {
  readonly store: BoundIdempotencyStore;
  readonly eventId: string;
  readonly token: string;
  readonly log: ReceiverLog;
}

/** The error of a delivery whose claim went to another one, or ran out. */
export function claimLost(delivery: ClaimedDelivery, why: string, cause?: unknown): CodedError {
  const { store, eventId } = delivery;
  return new CodedError("RECEIVER.CLAIM_LOST", `expected ${store.consumer} to own its claim of event ${eventId}, got ${why}`, {
    facts: { eventId, consumer: store.consumer },
    cause,
  });
}

/**
 * Renews a claim at a third of its life until stopped. Uses nothing but the store: the handler may hold every connection of its own.
 *
 * The claim counts as lost when the store says so, or when no renewal has been confirmed for a whole life: it may be another's by then.
 * A store that does not answer is asked again sooner than at the next third. `claimedAtMs` is `performance.now()` from before the claim.
 */
export function keepClaim(delivery: ClaimedDelivery, claimedAtMs: number): KeptClaim {
  const { store, eventId, token, log } = delivery;
  const renewMs = store.claimTtlMs / 3;
  const controller = new AbortController();
  let provenAtMs = claimedAtMs;
  let stopped = false;
  let timer = schedule(renewMs);

  function schedule(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => void renew(), delayMs).unref();
  }

  function lose(why: string, cause?: unknown): void {
    const error = claimLost(delivery, why, cause);
    log.warn({ err: error, eventId, consumer: store.consumer }, "claim lost while the handler ran; its signal is aborted");
    controller.abort(error);
  }

  async function renew(): Promise<void> {
    const sentAtMs = performance.now();
    try {
      const ours = await store.renew(eventId, token);
      if (stopped) return;
      if (!ours) return lose("a claim that ran out or another delivery owns");
      provenAtMs = sentAtMs;
      timer = schedule(renewMs);
    } catch (error) {
      if (stopped) return;
      if (performance.now() - provenAtMs >= store.claimTtlMs) return lose("no confirmed renewal for the claim's whole life", error);
      log.warn({ err: error, eventId, consumer: store.consumer }, "renewing a claim failed; it is tried again");
      timer = schedule(renewMs / 4);
    }
  }

  return {
    signal: controller.signal,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}
