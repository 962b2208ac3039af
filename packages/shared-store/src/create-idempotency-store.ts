import { randomUUID } from "node:crypto";
import { CodedError } from "@toolctrl/foundation/errors";
import type { BoundIdempotencyStore, ClaimAnswer, ReceiptAuthority } from "@toolctrl/outbox-receiver/store";
import { decodeClaimValue, encodeClaim, encodeDone } from "./claim-value.ts";
import { idempotencyKey } from "./keys.ts";
import type { KeyValueStore } from "./key-value.ts";

/** Life of an unrenewed claim: long enough for a slow round trip, short enough that a crash holds an event up for half a minute. */
const DEFAULT_CLAIM_TTL_MS = 30_000;
/** A held key may end between two looks at it; more often than this means that it is busy. */
const CLAIM_ROUNDS = 3;
/** A delivery that comes back at once would only spin. */
const MIN_RETRY_AFTER_MS = 100;

export interface IdempotencyStoreOptions {
  readonly store: KeyValueStore;
  /** First part of every key; may carry a hash tag. */
  readonly prefix: string;
  /** Life of a cached result, s. Must exceed the retry horizon: `assertResultTtlCoversHorizon` checks that at boot. */
  readonly ttlSeconds: number;
  readonly tenantId: string;
  readonly consumer: string;
  /** Deliberate repeats of the effect; default 0. */
  readonly effectEpoch?: number | undefined;
  /** Life of an unrenewed claim, ms; default 30,000. */
  readonly claimTtlMs?: number | undefined;
  /** The authority on what is finished, for when the store has forgotten. */
  readonly receipts?: ReceiptAuthority | undefined;
}

/**
 * Binds a key-value store to one tenant, one consumer and one effect epoch. Costs nothing: make one per delivery.
 * @throws CodedError `STORE.ARGUMENT` for an empty part or a TTL that is out of bounds.
 */
export function createIdempotencyStore(options: IdempotencyStoreOptions): BoundIdempotencyStore {
  const { store, prefix, ttlSeconds, tenantId, consumer, effectEpoch = 0, claimTtlMs = DEFAULT_CLAIM_TTL_MS, receipts } = options;
  // A store is made for a delivery, which asks for one key several times.
  let last = { eventId: "", key: "" };
  const keyOf = (eventId: string): string => {
    if (eventId !== last.eventId || last.key === "") {
      last = { eventId, key: idempotencyKey({ prefix, tenantId, consumer, eventId, effectEpoch }) };
    }
    return last.key;
  };
  const resultTtlMs = ttlSeconds * 1000;
  checkTtls(claimTtlMs, resultTtlMs);
  keyOf("probe");

  const bound: Omit<BoundIdempotencyStore, symbol> = {
    consumer,
    tenantId,
    claimTtlMs,
    receipts,
    claim: (eventId) => claim(store, keyOf(eventId), claimTtlMs),
    renew(eventId, token) {
      const held = encodeClaim(token);
      return store.compareAndSet(keyOf(eventId), held, held, claimTtlMs);
    },
    complete: (eventId, token, result) => store.compareAndSet(keyOf(eventId), encodeClaim(token), encodeDone(token, result), resultTtlMs),
    restore: (eventId, result) => store.setIfAbsent(keyOf(eventId), encodeDone(randomUUID(), result), resultTtlMs),
    async release(eventId, token) {
      await store.compareAndDelete(keyOf(eventId), encodeClaim(token));
    },
  };
  // The brand exists in types only; this is the one place that gives it.
  return bound as BoundIdempotencyStore;
}

async function claim(store: KeyValueStore, key: string, claimTtlMs: number): Promise<ClaimAnswer> {
  const token = randomUUID();
  for (let round = 0; round < CLAIM_ROUNDS; round += 1) {
    if (await store.setIfAbsent(key, encodeClaim(token), claimTtlMs)) return { kind: "claimed", token };
    const held = await store.get(key);
    if (held === null) continue;
    const value = decodeClaimValue(key, held.value);
    if (value.kind === "claim") return { kind: "in-progress", retryAfterMs: Math.max(held.ttlMs, MIN_RETRY_AFTER_MS) };
    const { result, omitted } = value;
    return omitted === undefined ? { kind: "done", result } : { kind: "done", result, omitted };
  }
  return { kind: "in-progress", retryAfterMs: MIN_RETRY_AFTER_MS };
}

function checkTtls(claimTtlMs: number, resultTtlMs: number): void {
  if (!Number.isSafeInteger(claimTtlMs) || claimTtlMs < MIN_RETRY_AFTER_MS) {
    throw new CodedError("STORE.ARGUMENT", `expected claimTtlMs to be a whole number from ${MIN_RETRY_AFTER_MS}, got ${claimTtlMs}`, {
      facts: { claimTtlMs },
    });
  }
  if (!Number.isSafeInteger(resultTtlMs) || resultTtlMs <= claimTtlMs) {
    throw new CodedError("STORE.ARGUMENT", `expected ttlSeconds to exceed the claim's ${claimTtlMs} ms, got ${resultTtlMs / 1000} s`, {
      facts: { claimTtlMs, ttlSeconds: resultTtlMs / 1000 },
    });
  }
}
