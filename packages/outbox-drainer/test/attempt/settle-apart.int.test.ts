import type { Database } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { describe, expect, test } from "vitest";
import { settleApart } from "../../src/attempt/settle-apart.ts";
import type { ClaimedEvent } from "../../src/claimed-event.ts";
import { createExpiredReleaser } from "../../src/pull/expired-releaser.ts";
import { settleEvents, type Settlement } from "../../src/sql/settle-events.ts";
import { claimOne, collectLog, insertRecordEvents, openPull, workersOf } from "../pull/support.ts";
import { letTimePass, readEvents, SETTINGS, silentLog } from "../support.ts";

const why = { errorCode: "X", error: "x" };
const OUTCOMES = ["done", "retry", "snooze", "dead"] as const;

function settlementOf({ id, lockToken }: ClaimedEvent, outcome: Settlement["outcome"]): Settlement {
  if (outcome === "done") return { id, lockToken, outcome };
  return outcome === "dead" ? { id, lockToken, outcome, ...why } : { id, lockToken, outcome, delayMs: 1_000, ...why };
}

/** A claim of a queue's event, by either drainer. */
async function claim(database: Database, claimMode: "batch" | "pull" = "pull"): Promise<ClaimedEvent> {
  await insertRecordEvents(database, 1, { type: "billing.invoice.paid" });
  const event = await claimOne(database);
  await database.pool.query(`UPDATE "OutboxEvent" SET "claimMode" = $1`, [claimMode]);
  return event;
}

/** What pull workers do with claims that have run out. */
async function releaseExpired(database: Database, crashBudget = SETTINGS.crashBudget): Promise<void> {
  await letTimePass(database);
  const settings = { ...SETTINGS, crashBudget };
  const metrics = createMetrics({ processMetrics: false });
  const deps = { pool: database.pool, router: createRouter(), settings, metrics, log: silentLog, onDead: () => undefined };
  await createExpiredReleaser(deps).release(1n);
}

describe("a claim that turns out to be settled or gone", () => {
  test.each(OUTCOMES)("was kept when it was we who settled it, and the answer was lost (%s)", async (outcome) => {
    const database = await openPull();
    const event = await claim(database);
    const settlement = settlementOf(event, outcome);
    await settleEvents(database.pool, [settlement]);
    expect(await settleApart(database.pool, event, settlement, silentLog)).toEqual({ settlement, fate: "kept" });
  });

  test("was done when a transaction did commit of which that was not known", async () => {
    const database = await openPull();
    const event = await claim(database);
    await settleEvents(database.pool, [settlementOf(event, "done")]);
    const settled = await settleApart(database.pool, event, settlementOf(event, "retry"), silentLog);
    expect(settled).toMatchObject({ fate: "kept", settlement: { outcome: "done" } });
  });

  test.each(OUTCOMES.flatMap((outcome) => (["pull", "batch"] as const).map((by) => [outcome, by] as const)))(
    "was lost when it ran out and its event was made due again (%s of a claim of the %s drainer)",
    async (outcome, by) => {
      const database = await openPull();
      const event = await claim(database, by);
      await releaseExpired(database);
      expect(await settleApart(database.pool, event, settlementOf(event, outcome), silentLog)).toMatchObject({ fate: "lost" });
      expect(await readEvents(database)).toMatchObject([{ status: "PENDING", retries: 0 }]);
    },
  );

  test.each(OUTCOMES)("was lost when it ran out and its event was given up (%s)", async (outcome) => {
    const database = await openPull();
    const event = await claim(database);
    await releaseExpired(database, 1);
    expect(await readEvents(database)).toMatchObject([{ status: "FAILED", attempts: event.attempts, retries: 0 }]);
    expect(await settleApart(database.pool, event, settlementOf(event, outcome), silentLog)).toMatchObject({ fate: "lost" });
  });
});

test("a pull worker whose claim ran out during its hand-off, and was released, says that the lease is lost and counts nothing as done", async () => {
  const database = await openPull();
  await insertRecordEvents(database, 1, { type: "billing.invoice.paid" });
  const { log, messages } = collectLog();
  const metrics = createMetrics({ processMetrics: false });
  const slow = {
    async addAll() {
      await releaseExpired(database);
      return [{ ok: true } as const];
    },
  };
  expect(await workersOf(database, [], { backend: slow, log, metrics }).runOnce()).toMatchObject({ fate: "lost" });
  expect(messages()).toContainEqual(expect.stringContaining("lease lost"));
  expect(await metrics.text()).not.toContain('outbox_settles_total{outcome="done"}');
});
