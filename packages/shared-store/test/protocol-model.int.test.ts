import { randomUUID } from "node:crypto";
import { createIdempotencyStore } from "../src/create-idempotency-store.ts";
import { idempotencyKey } from "../src/keys.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { StoreFixture } from "../src/testing.ts";
import { ADAPTERS } from "./fixtures.ts";

const OWNERS = ["A", "B"] as const;
type Owner = (typeof OWNERS)[number];

const BINDING = { prefix: "{model}", tenantId: "t", consumer: "c" };

const step = fc.oneof(
  fc.record({ do: fc.constantFrom("claim", "renew", "complete", "release", "crash", "restore"), owner: fc.constantFrom(...OWNERS) }),
  fc.record({ do: fc.constantFrom("expire", "flush"), owner: fc.constant("A" as const) }),
);

/** What the protocol says is under the key. */
type Held = { kind: "absent" } | { kind: "claim"; token: string } | { kind: "done"; result: unknown };

/** Plays one step on the real store and on the model, and compares the answers. */
function createPlay(fixture: StoreFixture) {
  const eventId = randomUUID();
  const store = createIdempotencyStore({ ...BINDING, store: fixture.store, ttlSeconds: 3600 });
  const key = idempotencyKey({ ...BINDING, eventId, effectEpoch: 0 });
  // A token that a crashed or failed owner has forgotten is never used again; one that ran out still is, by a late owner.
  const tokens: Record<Owner, string | undefined> = { A: undefined, B: undefined };
  let held: Held = { kind: "absent" };
  let results = 0;
  const owns = (owner: Owner): boolean => held.kind === "claim" && held.token === tokens[owner];

  const steps: Record<string, (owner: Owner, token: string) => Promise<void>> = {
    async renew(owner, token) {
      expect(await store.renew(eventId, token)).toBe(owns(owner));
    },
    async complete(owner, token) {
      const result = `result ${(results += 1)} of ${owner}`;
      const owned = owns(owner);
      expect(await store.complete(eventId, token, result)).toBe(owned);
      if (owned) held = { kind: "done", result };
    },
    async release(owner, token) {
      await store.release(eventId, token);
      if (owns(owner)) held = { kind: "absent" };
      tokens[owner] = undefined;
    },
  };

  async function claim(owner: Owner): Promise<void> {
    const answer = await store.claim(eventId);
    if (held.kind === "done") return expect(answer).toEqual({ kind: "done", result: held.result });
    expect(answer.kind).toBe(held.kind === "claim" ? "in-progress" : "claimed");
    if (answer.kind === "claimed") {
      tokens[owner] = answer.token;
      held = { kind: "claim", token: answer.token };
    }
  }

  async function play(action: string, owner: Owner): Promise<void> {
    const token = tokens[owner];
    if (action === "claim") return claim(owner);
    if (action === "crash") tokens[owner] = undefined;
    if (action === "expire" || action === "flush") {
      await (action === "expire" ? fixture.expire(key) : fixture.flush());
      held = { kind: "absent" };
    }
    if (action === "restore") {
      const result = `result ${(results += 1)} restored`;
      expect(await store.restore(eventId, result)).toBe(held.kind === "absent");
      if (held.kind === "absent") held = { kind: "done", result };
    }
    if (token !== undefined) await steps[action]?.(owner, token);
  }

  async function check(): Promise<void> {
    const raw = (await fixture.store.get(key))?.value;
    const expected = held.kind === "absent" ? undefined : expect.objectContaining({ v: 1, ...held });
    expect(raw === undefined ? undefined : JSON.parse(raw)).toEqual(expected);
  }
  return { play, check };
}

describe.each(ADAPTERS)("claim protocol against its model: %s", (_, open) => {
  let fixture: StoreFixture;
  beforeAll(async () => {
    fixture = await open();
  });
  afterAll(() => fixture.close());

  it("answers and holds what the model says, in every order of steps of two owners", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
        const { play, check } = createPlay(fixture);
        for (const { do: action, owner } of steps) {
          await play(action, owner);
          await check();
        }
      }),
      { numRuns: 100 },
    );
  });
});
