import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { KeyValueStore } from "./key-value.ts";

export { describeIdempotencyProtocol } from "./testing-idempotency.ts";

/** What the suites need of a test runner; vitest's own functions fit. */
export interface SuiteApi {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>): void;
  beforeAll(body: () => Promise<void>): void;
  afterAll(body: () => Promise<void>): void;
}

/** An adapter on a real server, and what its suites do behind its back. */
export interface StoreFixture {
  readonly store: KeyValueStore;
  /** Ends the life of a key now. */
  expire(key: string): Promise<void>;
  /** Makes the server forget everything. */
  flush(): Promise<void>;
  /** Leaves the connections of this moment silent; new ones are served. */
  strand(): void;
  close(): Promise<void>;
}

const LONG_MS = 60_000;

/** The conformance suite of the key-value port: every adapter runs it. */
export function describeKeyValueStore(name: string, open: () => Promise<StoreFixture>, api: SuiteApi): void {
  const { it } = api;
  api.describe(`key-value port: ${name}`, () => {
    let fixture: StoreFixture;
    api.beforeAll(async () => {
      fixture = await open();
    });
    api.afterAll(() => fixture.close());
    const fresh = (): { store: KeyValueStore; key: string } => ({ store: fixture.store, key: `kv:${randomUUID()}` });

    describeWrites(it, fresh, (key) => fixture.expire(key));
    describeRaces(it, fresh, (key) => fixture.expire(key));
    describeValues(it, fresh);
    describeSilence(it, fresh, () => fixture.strand());
  });
}

type It = SuiteApi["it"];
type Fresh = () => { store: KeyValueStore; key: string };

function describeWrites(it: It, fresh: Fresh, expire: (key: string) => Promise<void>): void {
  it("takes an absent key, and no held one", async () => {
    const { store, key } = fresh();
    assert.equal(await store.setIfAbsent(key, "a", LONG_MS), true);
    assert.equal(await store.setIfAbsent(key, "b", LONG_MS), false);
    assert.equal((await store.get(key))?.value, "a");
  });
  it("recognises its own value when a write whose reply was lost is sent again", async () => {
    const { store, key } = fresh();
    assert.equal(await store.setIfAbsent(key, "mine", LONG_MS), true);
    assert.equal(await store.setIfAbsent(key, "mine", LONG_MS), true);
    assert.equal(await store.compareAndSet(key, "mine", "done", LONG_MS), true);
    assert.equal(await store.compareAndSet(key, "mine", "done", LONG_MS), true);
    assert.equal((await store.get(key))?.value, "done");
  });
  it("replaces and deletes only what is expected", async () => {
    const { store, key } = fresh();
    assert.equal(await store.compareAndSet(key, "a", "b", LONG_MS), false);
    assert.equal(await store.get(key), null);
    await store.setIfAbsent(key, "a", LONG_MS);
    assert.equal(await store.compareAndSet(key, "other", "b", LONG_MS), false);
    assert.equal(await store.compareAndDelete(key, "other"), false);
    assert.equal((await store.get(key))?.value, "a");
    assert.equal(await store.compareAndSet(key, "a", "b", LONG_MS), true);
    assert.equal(await store.compareAndDelete(key, "a"), false);
    assert.equal(await store.compareAndDelete(key, "b"), true);
    assert.equal(await store.compareAndDelete(key, "b"), false);
    assert.equal(await store.get(key), null);
  });
  it("treats an expired key as absent in every operation", async () => {
    const { store, key } = fresh();
    await store.setIfAbsent(key, "a", LONG_MS);
    await expire(key);
    assert.equal(await store.get(key), null);
    assert.equal(await store.compareAndSet(key, "a", "b", LONG_MS), false);
    assert.equal(await store.compareAndDelete(key, "a"), false);
    assert.equal(await store.setIfAbsent(key, "c", LONG_MS), true);
    assert.deepEqual((await store.get(key))?.value, "c");
  });
  it("lets a key end by itself, and a replacement gives it a new life", async () => {
    const { store, key } = fresh();
    await store.setIfAbsent(key, "a", 50);
    while ((await store.get(key)) !== null);
    await store.setIfAbsent(key, "a", 500);
    assert.equal(await store.compareAndSet(key, "a", "b", LONG_MS), true);
    const held = await store.get(key);
    assert.ok(held !== null && held.ttlMs > 500 && held.ttlMs <= LONG_MS, `got ${held?.ttlMs}`);
  });
}

function describeRaces(it: It, fresh: Fresh, expire: (key: string) => Promise<void>): void {
  const RIVALS = Array.from({ length: 25 }, (_, n) => `rival-${n}`);
  const winnersOf = (answers: boolean[]): string[] => RIVALS.filter((_, n) => answers[n]);

  it("gives an absent key to exactly one of many rivals", async () => {
    const { store, key } = fresh();
    const winners = winnersOf(await Promise.all(RIVALS.map((rival) => store.setIfAbsent(key, rival, LONG_MS))));
    assert.equal(winners.length, 1);
    assert.equal((await store.get(key))?.value, winners[0]);
  });
  it("gives an expired key to exactly one of many rivals", async () => {
    const { store, key } = fresh();
    await store.setIfAbsent(key, "gone", LONG_MS);
    await expire(key);
    const winners = winnersOf(await Promise.all(RIVALS.map((rival) => store.setIfAbsent(key, rival, LONG_MS))));
    assert.equal(winners.length, 1);
    assert.equal((await store.get(key))?.value, winners[0]);
  });
  it("lets exactly one of many rivals replace the same value", async () => {
    const { store, key } = fresh();
    await store.setIfAbsent(key, "a", LONG_MS);
    const winners = winnersOf(await Promise.all(RIVALS.map((rival) => store.compareAndSet(key, "a", rival, LONG_MS))));
    assert.equal(winners.length, 1);
    assert.equal((await store.get(key))?.value, winners[0]);
  });
}

function describeSilence(it: It, fresh: Fresh, strand: () => void): void {
  it("leaves connections that went silent: others are opened, and the same store goes on", async () => {
    const { store, key } = fresh();
    // At once, so that a store of several connections uses all of them.
    const areWritten = async (): Promise<boolean> => {
      const writes = Array.from({ length: 10 }, (_, n) => store.setIfAbsent(`${key}:${n}`, "a", LONG_MS));
      return (await Promise.allSettled(writes)).every(({ status }) => status === "fulfilled");
    };
    assert.ok(await areWritten());
    strand();
    while (!(await areWritten()));
  });
}

function describeValues(it: It, fresh: Fresh): void {
  it("gives back every text as it was", async () => {
    const { store } = fresh();
    for (const value of ["", "0", "null", '{"v":1}', "line\nline", "ü—漢字—🧾", "x".repeat(100_000)]) {
      const { key } = fresh();
      await store.setIfAbsent(key, value, LONG_MS);
      assert.equal((await store.get(key))?.value, value);
    }
  });
  it("keeps keys apart, whatever is in them", async () => {
    const { store, key } = fresh();
    const keys = [key, `${key}:`, `${key}%`, `{${key}}`, `${key} `, key.toUpperCase()];
    for (const each of keys) assert.equal(await store.setIfAbsent(each, each, LONG_MS), true);
    for (const each of keys) assert.equal((await store.get(each))?.value, each);
  });
  it("answers a probe", async () => {
    await fresh().store.ping();
  });
}
