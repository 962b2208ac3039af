import { randomUUID } from "node:crypto";
import { isCodedError } from "@toolctrl/foundation/errors";
import { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import { spawnNode } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIdempotencyStore } from "../src/create-idempotency-store.ts";
import { idempotencyKey } from "../src/keys.ts";
import type { StoreFixture } from "../src/testing.ts";
import { ADAPTERS } from "./fixtures.ts";

const CLAIM_TTL_MS = 2_000;
const BINDING = { prefix: "{crash}", ttlSeconds: 86_400, tenantId: "t", consumer: "c", claimTtlMs: CLAIM_TTL_MS };

describe.each(ADAPTERS)("a process killed inside its handler: %s", (kind, open) => {
  let fixture: StoreFixture & { url: string };
  beforeAll(async () => {
    fixture = await open();
  });
  afterAll(() => fixture.close());

  it("holds its event no longer than the claim lives, and the next try then runs the handler", async () => {
    const eventId = randomUUID();
    const child = spawnNode(new URL("hang-in-handler.ts", import.meta.url), {
      args: [kind, fixture.url, eventId, JSON.stringify(BINDING)],
    });
    await child.waitForLine(/in the handler/);
    child.kill("SIGKILL");
    await child.waitForExit();

    const bound = createIdempotencyStore({ ...BINDING, store: fixture.store });
    const refusals: unknown[] = [];
    const deliver = () =>
      withOutboxIdempotency(bound, eventId, async () => "ran").catch((error: unknown) => {
        if (!isCodedError(error) || error.code !== "RECEIVER.IN_PROGRESS") throw error;
        refusals.push(error.facts["retryAfterMs"]);
        return null;
      });
    expect(await waitFor(deliver, { what: "the claim to run out" })).toBe("ran");
    for (const retryAfterMs of refusals) expect(retryAfterMs).toSatisfy((ms: number) => ms > 0 && ms <= CLAIM_TTL_MS);

    // The result lives long, the claim did not.
    const key = idempotencyKey({ ...BINDING, eventId, effectEpoch: 0 });
    expect((await fixture.store.get(key))?.ttlMs).toBeGreaterThan(86_000_000);
  });
});
