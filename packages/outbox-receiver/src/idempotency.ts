import { assertNever, CodedError } from "@toolctrl/foundation/errors";
import { claimLost, keepClaim, type ClaimedDelivery, type KeptClaim } from "./keep-claim.ts";
import { processWarnings, type ReceiverLog } from "./receiver-log.ts";
import { toStorableResult } from "./storable-result.ts";
import type { BoundIdempotencyStore } from "./store.ts";

export type { ReceiverLog } from "./receiver-log.ts";

/** An event whose handler was not run, because it had finished before. */
export interface DuplicateDelivery {
  readonly eventId: string;
  /** What knew it: the cached result, or the receipt (the store had forgotten it). */
  readonly knownBy: "store" | "receipt";
  readonly result: unknown;
  /** Why the result could not be kept, if it could not. */
  readonly omitted?: string;
}

export interface OutboxIdempotencyOptions {
  /** Runs before a duplicate is answered; when it throws, the delivery fails and is tried again. */
  readonly onDuplicate?: (duplicate: DuplicateDelivery) => void | Promise<void>;
  /** Told of faults the delivery survived. Default: warnings of the process. */
  readonly log?: ReceiverLog;
}

/**
 * Runs a handler at most once at a time, and not again once it has finished, over all deliveries of an event to the store's consumer.
 *
 * While the handler runs, its claim is renewed; `signal` aborts when the claim is lost (a blocked process, a flushed store). A handler
 * that stops because of the signal must throw: resolving says that the effect is there. Its own error reaches the caller unchanged, and
 * the claim is given up. A duplicate gets the kept result, or `undefined` when it could not be kept.
 *
 * @throws CodedError `RECEIVER.IN_PROGRESS` (facts.retryAfterMs: what is left of the other delivery's claim) while another delivery
 * runs: never success, as that one may still fail. `RECEIVER.CLAIM_LOST` when another delivery took over before this one ended.
 * `STORE.UNAVAILABLE` when no claim could be made: the handler never runs unclaimed.
 */
export async function withOutboxIdempotency<T>(
  store: BoundIdempotencyStore,
  eventId: string,
  handler: (claim: { readonly signal: AbortSignal }) => Promise<T>,
  options: OutboxIdempotencyOptions = {},
): Promise<T> {
  const claimedAtMs = performance.now();
  const answer = await store.claim(eventId);
  switch (answer.kind) {
    case "in-progress":
      throw inProgress(store, eventId, answer.retryAfterMs);
    case "done": {
      const omitted = answer.omitted === undefined ? {} : { omitted: answer.omitted };
      await store.receipts?.record(eventId, answer.result);
      await options.onDuplicate?.({ eventId, knownBy: "store", result: answer.result, ...omitted });
      return answer.result as T;
    }
    case "claimed": {
      const delivery = { store, eventId, token: answer.token, log: options.log ?? processWarnings };
      return runClaimed(delivery, keepClaim(delivery, claimedAtMs), handler, options);
    }
    default:
      return assertNever(answer);
  }
}

async function runClaimed<T>(
  delivery: ClaimedDelivery,
  claim: KeptClaim,
  handler: (claim: { readonly signal: AbortSignal }) => Promise<T>,
  options: OutboxIdempotencyOptions,
): Promise<T> {
  const { store, eventId } = delivery;
  let result: T;
  try {
    // The store may have forgotten (flush, failover, expiry); the receipt has not.
    const receipt = await store.receipts?.find(eventId);
    if (receipt !== undefined && receipt !== null) {
      return (await suppressByReceipt(delivery, claim, receipt.result, options)) as T;
    }
    result = await handler({ signal: claim.signal });
  } catch (error) {
    claim.stop();
    await giveUp(delivery);
    throw error;
  }
  return settle(delivery, claim, result);
}

async function suppressByReceipt(
  delivery: ClaimedDelivery,
  claim: KeptClaim,
  result: unknown,
  options: OutboxIdempotencyOptions,
): Promise<unknown> {
  const { eventId } = delivery;
  claim.stop();
  await survive(delivery, "caching a receipt's result failed; the receipt decides", () => finish(delivery, result));
  await options.onDuplicate?.({ eventId, knownBy: "receipt", result });
  return result;
}

/** After the handler: the receipt first, then the cached result. From here on nothing may make the handler run again. */
async function settle<T>(delivery: ClaimedDelivery, claim: KeptClaim, result: T): Promise<T> {
  const { store, eventId } = delivery;
  const receiptFault = await faultOf(() => recordReceipt(delivery, result));
  claim.stop();
  // Cached even when the receipt failed: the next delivery then finds the result and writes the missing receipt.
  const settled = await survive(delivery, "caching a result failed; the handler has finished", () => finish(delivery, result));
  if (receiptFault !== undefined) throw receiptFault.error;
  if (settled === false) throw claimLost(delivery, "one that another delivery took over");
  // `undefined`: the store did not answer. The effect is there, so the delivery succeeds; a repeat is stopped by the receipt.
  if (settled === undefined && store.receipts === undefined) {
    delivery.log.warn({ eventId, consumer: store.consumer }, "a finished event has neither a cached result nor a receipt");
  }
  return result;
}

async function recordReceipt(delivery: ClaimedDelivery, result: unknown): Promise<void> {
  const { store, eventId, log } = delivery;
  const storable = toStorableResult(result);
  if (storable.kind === "omitted") {
    log.warn({ eventId, consumer: store.consumer, why: storable.why }, "a result cannot be kept; duplicates will get undefined");
  }
  await store.receipts?.record(eventId, storable.kind === "kept" ? result : undefined);
}

/** True when the result is cached by this call. A claim that ran out with nobody taking over is no reason to run the handler again. */
async function finish(delivery: ClaimedDelivery, result: unknown): Promise<boolean> {
  const { store, eventId, token } = delivery;
  return (await store.complete(eventId, token, result)) || (await store.restore(eventId, result));
}

async function giveUp(delivery: ClaimedDelivery): Promise<void> {
  const { store, eventId, token } = delivery;
  await survive(delivery, "giving up a claim failed; it runs out by itself", () => store.release(eventId, token));
}

/** The step's value, or undefined when it failed: that is logged. */
async function survive<V>(delivery: ClaimedDelivery, message: string, step: () => Promise<V>): Promise<V | undefined> {
  try {
    return await step();
  } catch (error) {
    delivery.log.warn({ err: error, eventId: delivery.eventId, consumer: delivery.store.consumer }, message);
    return undefined;
  }
}

async function faultOf(step: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return { error };
  }
}

function inProgress(store: BoundIdempotencyStore, eventId: string, retryAfterMs: number): CodedError {
  return new CodedError("RECEIVER.IN_PROGRESS", `expected event ${eventId} to be free for ${store.consumer}, got a running delivery`, {
    facts: { eventId, consumer: store.consumer, retryAfterMs },
  });
}
