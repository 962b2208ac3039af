import { createRouter } from "@toolctrl/event-router/router";
import { expect, test } from "vitest";
import { countHeld, outboxStats, traceEvent } from "../../src/stats.ts";
import { workersOf, openPull, insertRecordEvents } from "../pull/support.ts";
import { openDatabase } from "../support.ts";
import { HELD_TYPE, holding, HOLD, insertMany, setMode } from "./support.ts";

const heldBy = holding("workflow.");
const router = createRouter();
const backend = {
  counts: () => Promise.reject(new Error("not asked")),
  find: () => Promise.resolve(null),
  kind: "redis",
  prefix: "p",
} as const;

test("stats name each held route with its reason and how many of its events wait, apart from those behind them", async () => {
  const database = await openPull();
  await insertMany(database, 150, { type: HELD_TYPE, record: "r-" });
  await insertMany(database, 150, { type: "audit.entry.record", record: "r-" });
  const workers = workersOf(database, [], { heldBy });
  while ((await workers.runOnce()) !== null);
  const { heldRoutes, heldBehind, blockedLines } = await outboxStats({ db: database.pool, router, backend, heldBy });
  expect(heldRoutes).toEqual([{ route: "workflow.", ...HOLD, events: 150, oldestAt: expect.any(Date) }]);
  expect([heldBehind, blockedLines.held, await countHeld(database.pool)]).toEqual([150, 150, 300]);
  expect(await outboxStats({ db: database.pool, router, backend })).toMatchObject({ heldRoutes: [], heldBehind: 300 });
});

test("a route that would be held is named while the dispatcher runs and nothing waits", async () => {
  const { pool } = await openDatabase();
  const { heldRoutes } = await outboxStats({ db: pool, router, backend, heldBy });
  expect(heldRoutes).toEqual([{ route: "workflow.", ...HOLD, events: 0, oldestAt: null }]);
});

test("the trace of a held event says why it is held and what releases it, before it is put off and after; not under the dispatcher", async () => {
  const database = await openPull();
  const [id = ""] = await insertRecordEvents(database, 1, { type: HELD_TYPE });
  const trace = () => traceEvent({ db: database.pool, router, backend, heldBy }, id);
  const held = { state: "held", why: expect.stringContaining(HOLD.reason), next: expect.stringContaining("OUTBOX_PULL_WORKER=false") };
  expect((await trace()).verdict).toMatchObject(held);
  await workersOf(database, [], { heldBy }).runOnce();
  const after = await trace();
  expect(after.verdict).toMatchObject(held);
  expect(after.steps.at(-1)).toMatchObject({ step: "held", error: expect.stringMatching(/^ROUTER\.HELD: .+2026-12-02/) });
  await setMode(database, "batch");
  expect((await trace()).verdict.state).not.toBe("held");
});

test("stats name the consumers that no live process runs, by what processes say of themselves", async () => {
  const { pool } = await openDatabase();
  const register = (queues: string[], consumers: string[] | null): Promise<unknown> =>
    pool.query(
      `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "queueBackend", "queuePrefix", "queues", "consumers", "aliveUntil")
       VALUES (gen_random_uuid(), 'w', 'h', 1, 'redis', '{t}', $1, $2, clock_timestamp() + interval '1 minute')`,
      [queues, consumers],
    );
  await register(["outbox.mail", "outbox.audit"], ["mail-render"]);
  await register(["outbox.webhook"], null);
  const { queues } = await outboxStats({ db: pool, router, backend });
  const missing = Object.fromEntries(queues.map((queue) => [queue.queue, queue.missing]));
  expect(missing).toMatchObject({
    "outbox.mail": [],
    "outbox.audit": ["audit-append"],
    "outbox.webhook": [],
    "outbox.workflow": ["workflow-trigger"],
    "toolctrl.maintenance": [],
  });
});
