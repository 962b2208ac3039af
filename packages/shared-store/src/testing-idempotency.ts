import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isCodedError } from "@toolctrl/foundation/errors";
import { withOutboxIdempotency, type DuplicateDelivery } from "@toolctrl/outbox-receiver/idempotency";
import type { BoundIdempotencyStore, ReceiptAuthority } from "@toolctrl/outbox-receiver/store";
import { createIdempotencyStore } from "./create-idempotency-store.ts";
import { idempotencyKey } from "./keys.ts";
import type { StoreFixture, SuiteApi } from "./testing.ts";

const PREFIX = "{suite}";
const BINDING = { prefix: PREFIX, tenantId: "tenant-1", consumer: "mail-render" };

/** One event on one adapter: its bound store, and what the suite does behind the store's back. */
interface Scene {
  readonly eventId: string;
  readonly store: BoundIdempotencyStore;
  bind(receipts: ReceiptAuthority): BoundIdempotencyStore;
  expire(): Promise<void>;
  flush(): Promise<void>;
  /** What stands under the event's key. */
  raw(): Promise<string | undefined>;
}

/** The suite of the claim protocol: `withOutboxIdempotency` on a real server, for every adapter. */
export function describeIdempotencyProtocol(name: string, open: () => Promise<StoreFixture>, api: SuiteApi): void {
  api.describe(`idempotency protocol: ${name}`, () => {
    let fixture: StoreFixture;
    api.beforeAll(async () => {
      fixture = await open();
    });
    api.afterAll(() => fixture.close());
    const scene = (): Scene => {
      const eventId = randomUUID();
      const key = idempotencyKey({ ...BINDING, eventId, effectEpoch: 0 });
      const base = { ...BINDING, store: fixture.store, ttlSeconds: 3600 };
      return {
        eventId,
        store: createIdempotencyStore(base),
        bind: (receipts) => createIdempotencyStore({ ...base, receipts }),
        expire: () => fixture.expire(key),
        flush: () => fixture.flush(),
        raw: async () => (await fixture.store.get(key))?.value,
      };
    };
    describeResults(api.it, scene);
    describeFailure(api.it, scene);
    describeConcurrency(api.it, scene);
    describeReceipts(api.it, scene);
  });
}

type It = SuiteApi["it"];
type MakeScene = () => Scene;

/** A receipt table in memory, for the order of calls and for its faults; the real one is tested where it lives. */
export function createReceiptLedger(): ReceiptAuthority & { rows: Map<string, unknown>; calls: string[]; fault: Error | undefined } {
  return {
    rows: new Map(),
    calls: [],
    fault: undefined,
    async find(eventId) {
      this.calls.push("find");
      return this.rows.has(eventId) ? { result: this.rows.get(eventId) } : null;
    },
    async record(eventId, result) {
      this.calls.push("record");
      if (this.fault !== undefined) throw this.fault;
      if (!this.rows.has(eventId)) this.rows.set(eventId, result);
    },
  };
}

async function codeOf(run: Promise<unknown>): Promise<string> {
  const error = await errorOf(run);
  return isCodedError(error) ? error.code : `no coded error: ${String(error)}`;
}

async function errorOf(run: Promise<unknown>): Promise<unknown> {
  try {
    await run;
  } catch (error) {
    return error;
  }
  throw new assert.AssertionError({ message: "expected a rejection, got a result" });
}

function describeResults(it: It, scene: MakeScene): void {
  const looksLikeAClaim = { v: 1, kind: "claim", token: "t" };
  for (const result of [undefined, null, 0, "", false, [], { a: [1, "ü"] }, looksLikeAClaim, JSON.stringify(looksLikeAClaim)]) {
    it(`runs the handler once and gives duplicates its result: ${JSON.stringify(result)}`, async () => {
      const { store, eventId } = scene();
      let runs = 0;
      const deliver = () => withOutboxIdempotency<unknown>(store, eventId, async () => (runs++, result));
      assert.deepEqual([await deliver(), await deliver(), await deliver()], [result, result, result]);
      assert.equal(runs, 1);
    });
  }
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const unstorable = {
    "a BigInt": 1n,
    "a cycle": cycle,
    "a function": () => 0,
    "a symbol": Symbol("s"),
    "a Date": new Date(0),
    "65 KiB": "x".repeat(65 * 1024),
  };
  for (const [what, result] of Object.entries(unstorable)) {
    it(`does not run the handler again when its result cannot be kept: ${what}`, async () => {
      const { bind, eventId } = scene();
      const ledger = createReceiptLedger();
      let runs = 0;
      const duplicates: DuplicateDelivery[] = [];
      const options = { onDuplicate: (duplicate: DuplicateDelivery) => void duplicates.push(duplicate), log: { warn: () => undefined } };
      const deliver = () => withOutboxIdempotency<unknown>(bind(ledger), eventId, async () => (runs++, result), options);
      assert.equal(await deliver(), result);
      assert.equal(await deliver(), undefined);
      assert.equal(runs, 1);
      assert.equal(typeof duplicates[0]?.omitted, "string");
      assert.deepEqual([...ledger.rows.values()], [undefined]);
    });
  }
}

function describeFailure(it: It, scene: MakeScene): void {
  it("gives the claim up when the handler throws, and its error reaches the caller unchanged", async () => {
    const { store, eventId, raw } = scene();
    const failure = Object.freeze(new Error("the peer refused"));
    assert.equal(await errorOf(withOutboxIdempotency(store, eventId, () => Promise.reject(failure))), failure);
    assert.equal(await raw(), undefined);
    assert.equal(await withOutboxIdempotency(store, eventId, async () => "second try"), "second try");
  });
  it("treats a handler that throws before it returns a promise the same", async () => {
    const { store, eventId, raw } = scene();
    const failure = new Error("at once");
    const run = withOutboxIdempotency(store, eventId, () => {
      throw failure;
    });
    assert.equal(await errorOf(run), failure);
    assert.equal(await raw(), undefined);
  });
}

function describeConcurrency(it: It, scene: MakeScene): void {
  it("answers a delivery beside a running one with `in progress`, never with success, and the retry runs after its failure", async () => {
    const { store, eventId } = scene();
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    let running = 0;
    let most = 0;
    const handler = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      started.resolve();
      await gate.promise.finally(() => (running -= 1));
    };
    const first = withOutboxIdempotency(store, eventId, handler);
    await started.promise;
    const refusal = await errorOf(withOutboxIdempotency(store, eventId, handler));
    assert.ok(isCodedError(refusal) && refusal.code === "RECEIVER.IN_PROGRESS");
    const { retryAfterMs } = refusal.facts;
    assert.ok(typeof retryAfterMs === "number" && retryAfterMs > 0 && retryAfterMs <= store.claimTtlMs, String(retryAfterMs));
    gate.reject(new Error("the first fails"));
    assert.match(String(await errorOf(first)), /the first fails/);
    assert.equal(await withOutboxIdempotency(store, eventId, async () => "third"), "third");
    assert.equal(most, 1);
  });
  it("lets a late loser neither overwrite the winner's result nor give up its claim", async () => {
    const { store, eventId, expire } = scene();
    const late = await startBlocked(store, eventId);
    await expire();
    const winner = await startBlocked(store, eventId);
    late.finish("late");
    assert.equal(await codeOf(late.run), "RECEIVER.CLAIM_LOST");
    assert.equal(await codeOf(withOutboxIdempotency(store, eventId, async () => "third")), "RECEIVER.IN_PROGRESS");
    winner.finish("winner");
    assert.equal(await winner.run, "winner");
    assert.equal(await withOutboxIdempotency(store, eventId, async () => "third"), "winner");
  });
  it("lets a late failure leave the winner's claim and result alone", async () => {
    const { store, eventId, expire } = scene();
    const late = await startBlocked(store, eventId);
    await expire();
    const winner = await startBlocked(store, eventId);
    late.fail(new Error("late"));
    assert.match(String(await errorOf(late.run)), /late/);
    assert.equal(await codeOf(withOutboxIdempotency(store, eventId, async () => "third")), "RECEIVER.IN_PROGRESS");
    winner.finish("winner");
    await winner.run;
    assert.equal(await withOutboxIdempotency(store, eventId, async () => "third"), "winner");
  });
  it("keeps the result of a handler whose claim ran out with nobody taking over", async () => {
    const { store, eventId, flush } = scene();
    const delivery = await startBlocked(store, eventId);
    await flush();
    delivery.finish("first");
    assert.equal(await delivery.run, "first");
    assert.equal(await withOutboxIdempotency(store, eventId, async () => "second"), "first");
  });
}

async function startBlocked(store: BoundIdempotencyStore, eventId: string) {
  const outcome = Promise.withResolvers<string>();
  const started = Promise.withResolvers<void>();
  const run = withOutboxIdempotency(store, eventId, () => {
    started.resolve();
    return outcome.promise;
  });
  // Watched by its test later; an early rejection must not count as unhandled.
  run.catch(started.reject);
  await started.promise;
  return { run, finish: outcome.resolve, fail: outcome.reject };
}

function describeReceipts(it: It, scene: MakeScene): void {
  it("looks the receipt up before the handler, records it after, and only then caches the result", async () => {
    const { bind, eventId, raw } = scene();
    const ledger = createReceiptLedger();
    const record = ledger.record.bind(ledger);
    let cachedAtRecord: string | undefined;
    ledger.record = async (id, result) => {
      cachedAtRecord = await raw();
      await record(id, result);
    };
    await withOutboxIdempotency(bind(ledger), eventId, async () => void ledger.calls.push("handler"));
    assert.deepEqual(ledger.calls, ["find", "handler", "record"]);
    assert.match(String(cachedAtRecord), /"kind":"claim"/);
    assert.match(String(await raw()), /"kind":"done"/);
  });
  it("suppresses by the receipt after the store was flushed, and caches the result again", async () => {
    const { bind, eventId, flush, raw } = scene();
    const ledger = createReceiptLedger();
    await withOutboxIdempotency(bind(ledger), eventId, async () => "first");
    await flush();
    const known: string[] = [];
    const options = { onDuplicate: (duplicate: DuplicateDelivery) => void known.push(duplicate.knownBy) };
    assert.equal(await withOutboxIdempotency(bind(ledger), eventId, async () => "second", options), "first");
    assert.equal(await withOutboxIdempotency(bind(ledger), eventId, async () => "third", options), "first");
    assert.deepEqual(known, ["receipt", "store"]);
    assert.match(String(await raw()), /"kind":"done"/);
  });
  it("runs the handler again after a flush when there is no receipt", async () => {
    const { store, eventId, flush } = scene();
    await withOutboxIdempotency(store, eventId, async () => "first");
    await flush();
    assert.equal(await withOutboxIdempotency(store, eventId, async () => "second"), "second");
  });
  it("fails the delivery when the receipt cannot be written, and the next one writes it without running the handler", async () => {
    const { bind, eventId } = scene();
    const ledger = createReceiptLedger();
    ledger.fault = new Error("the database is away");
    assert.equal(await errorOf(withOutboxIdempotency(bind(ledger), eventId, async () => "first")), ledger.fault);
    assert.equal(await errorOf(withOutboxIdempotency(bind(ledger), eventId, async () => "second")), ledger.fault);
    ledger.fault = undefined;
    assert.equal(await withOutboxIdempotency(bind(ledger), eventId, async () => "third"), "first");
    assert.deepEqual([...ledger.rows], [[eventId, "first"]]);
  });
  it("gives the claim up when the receipt cannot be looked up", async () => {
    const { bind, eventId, raw } = scene();
    const ledger = createReceiptLedger();
    const fault = new Error("the database is away");
    ledger.find = () => Promise.reject(fault);
    assert.equal(await errorOf(withOutboxIdempotency(bind(ledger), eventId, async () => "never")), fault);
    assert.equal(await raw(), undefined);
  });
}
