import { randomUUID } from "node:crypto";
import { isCodedError } from "@toolctrl/foundation/errors";
import { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotencyStore } from "../src/create-idempotency-store.ts";
import { idempotencyKey } from "../src/keys.ts";
import { createReceiptLedger } from "../src/testing-idempotency.ts";
import type { StoreFixture } from "../src/testing.ts";
import { ADAPTERS } from "./fixtures.ts";

const BINDING = { prefix: "{deliveries}", tenantId: "t", consumer: "c" };

const step = fc.oneof(
  { weight: 4, arbitrary: fc.constant("deliver" as const) },
  { weight: 3, arbitrary: fc.constantFrom("finish-oldest", "finish-newest") },
  { weight: 2, arbitrary: fc.constantFrom("fail-oldest", "crash-oldest") },
  { weight: 1, arbitrary: fc.constantFrom("expire", "flush") },
);
type Step = "deliver" | "finish-oldest" | "finish-newest" | "fail-oldest" | "crash-oldest" | "expire" | "flush";

interface Run {
  readonly outcome: PromiseWithResolvers<string>;
  readonly delivery: Promise<string>;
}

/** Deliveries of one event whose handlers end when the play says so. */
function createPlay(fixture: StoreFixture, withReceipts: boolean) {
  const eventId = randomUUID();
  const key = idempotencyKey({ ...BINDING, eventId, effectEpoch: 0 });
  const ledger = createReceiptLedger();
  const store = createIdempotencyStore({ ...BINDING, store: fixture.store, ttlSeconds: 3600, receipts: withReceipts ? ledger : undefined });
  const running: Run[] = [];
  const seen = { starts: 0, effects: 0, forgotten: 0, overlaps: 0, startsAfterReceipt: 0 };

  async function deliver(): Promise<void> {
    const outcome = Promise.withResolvers<string>();
    const started = Promise.withResolvers<"started">();
    const delivery = withOutboxIdempotency(
      store,
      eventId,
      () => {
        seen.starts += 1;
        if (running.length > 0) seen.overlaps += 1;
        if (ledger.rows.has(eventId)) seen.startsAfterReceipt += 1;
        started.resolve("started");
        return outcome.promise;
      },
      { log: { warn: () => undefined } },
    );
    const answer = await Promise.race([started.promise, delivery.then(() => "answered" as const, codeOf)]);
    if (answer === "started") running.push({ outcome, delivery });
    else expect(["answered", "RECEIVER.IN_PROGRESS"]).toContain(answer);
  }

  async function end(run: Run | undefined, how: "finish" | "fail"): Promise<void> {
    if (run === undefined) return;
    running.splice(running.indexOf(run), 1);
    if (how === "fail") {
      const failure = new Error("the handler failed");
      run.outcome.reject(failure);
      await expect(run.delivery).rejects.toBe(failure);
      return;
    }
    seen.effects += 1;
    run.outcome.resolve(`effect ${seen.effects}`);
    const answer = await run.delivery.catch(codeOf);
    expect(["RECEIVER.CLAIM_LOST", `effect ${seen.effects}`]).toContain(answer);
  }

  async function play(action: Step): Promise<void> {
    if (action === "deliver") return deliver();
    if (action === "finish-newest") return end(running.at(-1), "finish");
    if (action === "finish-oldest") return end(running[0], "finish");
    if (action === "fail-oldest") return end(running[0], "fail");
    // A crashed process never speaks again; its claim stands until it runs out.
    if (action === "crash-oldest") return void running.shift();
    seen.forgotten += 1;
    await (action === "expire" ? fixture.expire(key) : fixture.flush());
  }

  /** Lets everything end and delivers until the event is finished, as the queue's retries do. */
  async function settle(): Promise<string> {
    while (running.length > 0) await end(running[0], "finish");
    for (;;) {
      const answer = await withOutboxIdempotency(store, eventId, async () => {
        if (ledger.rows.has(eventId)) seen.startsAfterReceipt += 1;
        return `effect ${(seen.effects += 1)}`;
      }).catch(codeOf);
      if (answer !== "RECEIVER.IN_PROGRESS") return answer;
      await fixture.expire(key);
    }
  }
  return { play, settle, seen, ledger };
}

function codeOf(error: unknown): string {
  if (isCodedError(error)) return error.code;
  throw error;
}

describe.each(ADAPTERS)("deliveries of one event: %s", (_, open) => {
  let fixture: StoreFixture;
  beforeAll(async () => {
    fixture = await open();
  });
  afterAll(() => fixture.close());

  it.each([true, false])(
    "end with its effect, never two handlers at once nor an effect after a receipt (receipts: %s)",
    async (withReceipts) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20 }), async (steps) => {
          const { play, settle, seen, ledger } = createPlay(fixture, withReceipts);
          for (const action of steps) await play(action);
          expect(await settle()).toMatch(/^effect \d+$/);
          expect(seen.effects).toBeGreaterThan(0);
          expect({ receipts: ledger.rows.size, startsAfterReceipt: seen.startsAfterReceipt }).toEqual({
            receipts: withReceipts ? 1 : 0,
            startsAfterReceipt: 0,
          });
          // Only a store that forgot a live claim lets a second handler start, and only then can a second effect come.
          expect(seen.forgotten > 0 || (seen.overlaps === 0 && seen.effects === 1)).toBe(true);
        }),
        { numRuns: 80 },
      );
    },
  );
});
