import { createRouter } from "@toolctrl/event-router/router";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { expect, test } from "vitest";
import { createHoldOf } from "../../src/held.ts";
import { createShadow } from "../../src/switch.ts";
import { compareClaims } from "../../src/switch/sql/compare-claims.ts";
import { claimHead } from "../../src/pull/claim-head.ts";
import { holding } from "../held/support.ts";
import { seedLine } from "../lines/seed-line.ts";
import { insertEvents, openDatabase } from "../support.ts";

test("a shadow names what pull workers would hold back, each time once, and claims and locks nothing", async () => {
  const database = await openDatabase();
  const { pool } = database;
  await insertEvents(database, 2);
  const lines = {
    parked: await seedLine(pool, "parked", ["parked", "due"]),
    backoff: await seedLine(pool, "backoff", ["backoff", "due"]),
    flying: await seedLine(pool, "flying", ["in-flight", "due"], { tenantId: "globex" }),
    free: await seedLine(pool, "free", ["due", "due"], { tenantId: "globex" }),
    held: await seedLine(pool, "held", ["due"], { tenantId: "globex", type: "workflow.trigger.event" }),
  };
  const image = async (): Promise<unknown> => (await pool.query(`SELECT * FROM "OutboxEvent" ORDER BY "position"`)).rows;
  const before = await image();
  const said: Array<{ msg: string; held?: unknown[] }> = [];
  const log = createLogger({
    app: "test",
    level: "info",
    destination: { write: (line: string) => void said.push(JSON.parse(line) as { msg: string }) },
  });
  const metrics = createMetrics({ processMetrics: false });
  const shadow = createShadow({ db: pool, holdOf: createHoldOf(createRouter(), holding("workflow.")), metrics, log });
  // With every row locked by somebody else it would wait, if it asked for a lock.
  const locker = await pool.connect();
  await locker.query("BEGIN");
  await locker.query(`SELECT 1 FROM "OutboxEvent" FOR UPDATE`);
  for (let time = 0; time < 2; time += 1) await shadow.compare();
  await locker.query("ROLLBACK");
  locker.release();
  expect(await image()).toEqual(before);
  expect(said).toHaveLength(1);
  expect(said[0]?.held?.toSorted(byId)).toEqual(
    [
      { id: lines.parked[1], headId: lines.parked[0], outcome: "behind-parked" },
      { id: lines.backoff[1], headId: lines.backoff[0], outcome: "behind-backoff" },
      { id: lines.flying[1], headId: lines.flying[0], outcome: "behind-in-flight" },
      { id: lines.held[0], headId: lines.held[0], outcome: "held" },
    ].toSorted(byId),
  );
  const text = await metrics.text();
  const counted = Object.fromEntries(
    [...text.matchAll(/^outbox_shadow_events_total\{outcome="([\w-]+)"\} (\d+)$/gm)].map((found) => [found[1], Number(found[2])]),
  );
  expect(counted).toEqual({ claim: 6, "behind-due": 2, "behind-parked": 2, "behind-backoff": 2, "behind-in-flight": 2, held: 2 });
});

function byId(a: unknown, b: unknown): number {
  return (a as { id: string }).id < (b as { id: string }).id ? -1 : 1;
}

test("what the shadow says would be claimed is what pull workers then claim", async () => {
  const { pool } = await openDatabase();
  for (const [record, states] of Object.entries({
    a: ["due", "due"],
    b: ["backoff", "due"],
    c: ["parked", "due"],
    d: ["dead", "due"],
    e: ["done", "due", "due"],
  } as const))
    await seedLine(pool, record, states);
  const foreseen = (await compareClaims(pool)).filter(({ outcome }) => outcome === "claim").map(({ id }) => id);
  await pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
  const claimed: string[] = [];
  for (;;) {
    const claim = await claimHead(pool, { epoch: 1n, leaseMs: 60_000, lockToken: crypto.randomUUID(), afterTenant: "", afterKeys: {} });
    if (claim.kind !== "claimed") break;
    claimed.push(claim.event.id);
  }
  expect(claimed.toSorted()).toEqual(foreseen.toSorted());
  expect(claimed).toHaveLength(3);
});
