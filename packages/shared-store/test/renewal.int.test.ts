// Mostly waits: for claims to end.
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { waitFor } from "@toolctrl/testkit/wait";
import { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotencyStore } from "../src/create-idempotency-store.ts";
import type { KeyValueStore } from "../src/key-value.ts";
import type { StoreFixture } from "../src/testing.ts";
import { ADAPTERS, openPostgresFixture } from "./fixtures.ts";

const BINDING = { prefix: "{renewal}", ttlSeconds: 3600, tenantId: "t", consumer: "c" };

/** The same store, counting confirmed renewals, and noting the claim of every one that was sent. */
function countRenewals(store: KeyValueStore): { store: KeyValueStore; confirmed: () => number; sent: string[] } {
  let confirmed = 0;
  const sent: string[] = [];
  return {
    sent,
    confirmed: () => confirmed,
    store: {
      ...store,
      async compareAndSet(key, expected, value, ttlMs) {
        if (expected === value) sent.push(value);
        const replaced = await store.compareAndSet(key, expected, value, ttlMs);
        if (replaced && expected === value) confirmed += 1;
        return replaced;
      },
    },
  };
}

/** Holds a handler for more than a whole life of its claim, then shows that nobody else gets in. */
async function outliveItsClaim(keyValueStore: KeyValueStore, claimTtlMs: number): Promise<string> {
  const { store, confirmed } = countRenewals(keyValueStore);
  const bound = createIdempotencyStore({ ...BINDING, store, claimTtlMs });
  const eventId = randomUUID();
  return withOutboxIdempotency(bound, eventId, async ({ signal }) => {
    // Four renewals lie a third of a life apart each, so a claim that was not renewed has ended by now.
    await waitFor(() => confirmed() >= 4, { timeoutMs: 30_000, what: "four renewals" });
    await expect(withOutboxIdempotency(bound, eventId, async () => "second")).rejects.toMatchObject({ code: "RECEIVER.IN_PROGRESS" });
    expect(signal.aborted).toBe(false);
    return "alone";
  });
}

describe.each(ADAPTERS)("renewal: %s", (_, open) => {
  let fixture: StoreFixture;
  beforeAll(async () => {
    fixture = await open();
  });
  afterAll(() => fixture.close());

  it("keeps a claim while its handler runs longer than the claim lives", async () => {
    expect(await outliveItsClaim(fixture.store, 1_200)).toBe("alone");
  });

  it("aborts the handler's signal when the claim is found lost, and says so to a handler that gives in", async () => {
    const bound = createIdempotencyStore({ ...BINDING, store: fixture.store, claimTtlMs: 300 });
    const warnings: string[] = [];
    const log = { warn: (_facts: object, message: string) => void warnings.push(message) };
    const run = withOutboxIdempotency(
      bound,
      randomUUID(),
      async ({ signal }) => {
        await fixture.flush();
        await once(signal, "abort");
        signal.throwIfAborted();
      },
      { log },
    );
    await expect(run).rejects.toMatchObject({ code: "RECEIVER.CLAIM_LOST" });
    expect(warnings).toEqual(["claim lost while the handler ran; its signal is aborted"]);
  });

  it("stops when the handler ends", async () => {
    const { store, confirmed, sent } = countRenewals(fixture.store);
    const bound = createIdempotencyStore({ ...BINDING, store, claimTtlMs: 300 });
    await withOutboxIdempotency(bound, randomUUID(), () => waitFor(() => confirmed() >= 1, { what: "one renewal" }));
    const before = [...sent];
    // A second delivery with two renewals of its own gives the first one's timer every chance.
    await withOutboxIdempotency(bound, randomUUID(), () => waitFor(() => sent.length >= before.length + 2, { what: "two renewals" }));
    expect(sent.filter((claim) => before.includes(claim))).toEqual(before);
  });
});

it("renews on its own connections while the handler holds every connection of the pool", async () => {
  const fixture = await openPostgresFixture();
  const held = await Promise.all(Array.from({ length: fixture.pool.options.max }, () => fixture.pool.connect()));
  try {
    expect(fixture.pool.idleCount).toBe(0);
    expect(await outliveItsClaim(fixture.store, 1_200)).toBe("alone");
  } finally {
    for (const client of held) client.release();
    await fixture.close();
  }
});
