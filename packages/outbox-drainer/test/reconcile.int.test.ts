import type { Database } from "@toolctrl/db/client";
import { recordDead } from "@toolctrl/db/receipts";
import { createRouter, ROUTES } from "@toolctrl/event-router/router";
import { jobIdFor, jobIdOf } from "@toolctrl/queue/job-id";
import type { QueueBackend } from "@toolctrl/queue/port";
import { beforeEach, describe, expect, test } from "vitest";
import { requeueEvents } from "../src/actions.ts";
import { createReconciler, reconcileEvents, type ReconcileDeps } from "../src/reconcile.ts";
import { seedEvent, seedReceipt } from "./seed-event.ts";
import { dispatcherOf, openBackend, openDatabase } from "./support.ts";

let database: Database;
let backend: QueueBackend;
let deps: ReconcileDeps;

beforeEach(async () => {
  database = await openDatabase();
  backend = await openBackend();
  deps = { pool: database.pool, router: createRouter(), routes: ROUTES, backend };
});

const LOOK = { apply: false, olderThanMs: 1000, actor: "ann" };

async function lost(options: Partial<Parameters<typeof reconcileEvents>[1]> = {}) {
  const report = await reconcileEvents(deps, { ...LOOK, ...options });
  return { ...report, lost: report.lost.map(({ id, missing, requeued }) => ({ id, missing, requeued })) };
}

/** An event that was handed off: DONE, its job in the queue unless it was lost. */
async function handedOff(options: { type?: string; job?: "waiting" | "lost"; age?: string } = {}): Promise<string> {
  const { type = "billing.invoice.paid", job = "lost", age = "1 minute" } = options;
  const id = await seedEvent(database.pool, { status: "DONE", type, age });
  if (job === "waiting") await backend.addAll([{ queue: "outbox.notification", id: jobIdFor(id), name: type, data: {} }]);
  return id;
}

describe("what is lost", () => {
  test("a handed-off event without receipt and without job, and no other", async () => {
    const gone = await handedOff();
    await handedOff({ job: "waiting" });
    const finished = await handedOff();
    await seedReceipt(database.pool, finished, "notification-create");
    const dead = await handedOff();
    await seedReceipt(database.pool, dead, "notification-create", "dead");
    await handedOff({ age: "0 seconds" });
    await handedOff({ type: "record.order.saved" });
    await handedOff({ type: "no.such.route" });
    await seedEvent(database.pool, { status: "PENDING" });
    await seedEvent(database.pool, { status: "FAILED" });
    expect(await lost()).toMatchObject({ underWay: 1, lost: [{ id: gone, missing: ["notification-create"], requeued: false }] });
  });

  test("a mail whose job in the second queue is gone; one whose second job waits is under way", async () => {
    const [gone, waits] = [await handedOff({ type: "mail.message.send" }), await handedOff({ type: "mail.message.send" })];
    for (const id of [gone, waits]) await seedReceipt(database.pool, id, "mail-render");
    await backend.addAll([{ queue: "toolctrl.email", id: jobIdOf("email", waits), name: "email.send", data: {} }]);
    expect(await lost()).toMatchObject({ underWay: 1, lost: [{ id: gone, missing: ["email-send"] }] });
  });

  test("a plugin call whose job is gone; while one call of the event waits, the event is under way", async () => {
    const [gone = "", waits = "", again = ""] = await Promise.all(
      ["pending", "pending", "failed"].map(async (state) => {
        const id = await handedOff({ type: "plugin.hook.order.paid" });
        await seedReceipt(database.pool, id, "plugin-fanout");
        await database.pool.query(
          `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "target", "state", "externalId") SELECT gen_random_uuid(), $1, 'acme', 'plugin-invoke', 's1', $2, 'x'`,
          [id, state],
        );
        return id;
      }),
    );
    // A hook that is dead has a job again when its event was requeued.
    const jobs = [waits, again].map((id) => jobIdOf("plugin", `${id}-s1`));
    await backend.addAll(jobs.map((id) => ({ queue: "toolctrl.plugin-invoke", id, name: "plugin.invoke", data: {} })));
    expect(await lost()).toMatchObject({ underWay: 2, lost: [{ id: gone, missing: ["plugin-invoke"] }] });
  });

  test("the job of a requeue, though the consumer gave up on the event before; a job that gave up since is dead, not lost", async () => {
    const [again, dead] = [await handedOff(), await handedOff()];
    const giveUp = (eventId: string, generation: number) =>
      recordDead(database.pool, { eventId, tenantId: "acme", consumer: "notification-create", effectEpoch: 0, generation, error: "550" });
    for (const id of [again, dead]) await giveUp(id, 0);
    await requeueEvents(deps, { ids: [again, dead], actor: "ann" });
    await dispatcherOf(database, backend).tick();
    await backend.obliterate("outbox.notification");
    await giveUp(dead, 1);
    await database.pool.query(`UPDATE "OutboxEvent" SET "processedAt" = clock_timestamp() - interval '1 minute'`);
    expect((await lost()).lost).toEqual([{ id: again, missing: ["notification-create"], requeued: false }]);
  });

  test("a replay whose job is gone, though the consumer finished the event in its first epoch", async () => {
    const id = await seedEvent(database.pool, { status: "DONE", effectEpoch: 1, replayConsumer: "notification-create" });
    await seedReceipt(database.pool, id, "notification-create");
    expect((await lost()).lost).toEqual([{ id, missing: ["notification-create"], requeued: false }]);
    await seedReceipt(database.pool, id, "notification-create", "done", 1);
    expect((await lost()).lost).toEqual([]);
  });

  test("nothing, while the queue cannot be asked", async () => {
    await handedOff();
    await backend.close(100);
    await expect(reconcileEvents(deps, LOOK)).rejects.toMatchObject({ code: "QUEUE.UNREACHABLE" });
  });

  test("nothing that finished between the look at its receipts and the look at its job", async () => {
    const id = await handedOff();
    const finishing: ReconcileDeps["backend"] = {
      async findLive() {
        await seedReceipt(database.pool, id, "notification-create");
        return new Set();
      },
    };
    expect((await reconcileEvents({ ...deps, backend: finishing }, { ...LOOK, apply: true })).lost).toEqual([]);
  });

  test("every page of them, and only those handed off since a moment where one is named", async () => {
    await database.pool.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "processedAt", "blocksLine")
       SELECT gen_random_uuid(), 'acme', 'billing.invoice.paid', '{}', 'DONE', clock_timestamp() - n * interval '1 minute', false FROM generate_series(1, 2500) AS n`,
    );
    expect(await lost()).toMatchObject({ looked: 2500, lost: { length: 2500 } });
    expect((await lost({ since: new Date(Date.now() - 90_000) })).lost).toHaveLength(1);
  });
});

describe("what becomes of it", () => {
  test("a new job of a new generation, an audit row, and nothing on the second look while the job waits", async () => {
    const id = await handedOff();
    expect((await lost({ apply: true, reason: "redis was flushed" })).lost).toEqual([
      { id, missing: ["notification-create"], requeued: true },
    ]);
    await dispatcherOf(database, backend).tick();
    expect(await backend.findLive("outbox.notification", [jobIdFor(id, 1)])).toEqual(new Set([jobIdFor(id, 1)]));
    const { rows } = await database.pool.query(`SELECT "actor", "action", "reason", "eventIds" FROM "OutboxAction"`);
    expect(rows).toEqual([{ actor: "ann", action: "requeue", reason: "redis was flushed", eventIds: [id] }]);
    await database.pool.query(`UPDATE "OutboxEvent" SET "processedAt" = clock_timestamp() - interval '1 minute'`);
    expect(await lost({ apply: true })).toMatchObject({ underWay: 1, lost: [] });
  });

  test("one new job when two look at the same moment", async () => {
    const id = await handedOff();
    const [a, b] = await Promise.all([lost({ apply: true }), lost({ apply: true })]);
    expect([...a.lost, ...b.lost].filter(({ requeued }) => requeued)).toHaveLength(1);
    const { rows } = await database.pool.query(`SELECT "generation" FROM "OutboxEvent" WHERE "id" = $1`, [id]);
    expect(rows).toEqual([{ generation: 1 }]);
  });
});

test("a reconciler that runs again and again asks anew of what was under way, and finds what has been lost since", async () => {
  const reconciler = createReconciler(deps, { olderThanMs: 1000, actor: "worker" });
  const ids = [await handedOff({ job: "waiting", age: "3 minutes" }), await handedOff({ job: "waiting", age: "2 minutes" })];
  expect(await reconciler.run()).toMatchObject({ looked: 2, underWay: 2, lost: [] });
  expect(await reconciler.run()).toMatchObject({ looked: 0, underWay: 2, lost: [] });
  await seedReceipt(database.pool, ids[0] ?? "", "notification-create");
  await backend.obliterate("outbox.notification");
  const later = await handedOff();
  const { lost: found, ...rest } = await reconciler.run();
  expect(rest).toEqual({ looked: 1, underWay: 0 });
  expect(found.map(({ id, requeued }) => ({ id, requeued }))).toEqual([
    { id: ids[1], requeued: true },
    { id: later, requeued: true },
  ]);
});

test("runs of a reconciler that come at once are made one after the other: what is under way is kept once, and none of it forgotten", async () => {
  const ids = [await handedOff({ job: "waiting" }), await handedOff({ job: "waiting" })];
  await handedOff();
  const reconciler = createReconciler(deps, { olderThanMs: 1000, actor: "reconciler" });
  const reports = await Promise.all([reconciler.run(), reconciler.run(), reconciler.run()]);
  expect(reports.map(({ looked, underWay, lost }) => [looked, underWay, lost.length])).toEqual([
    [3, 2, 1],
    [0, 2, 0],
    [0, 2, 0],
  ]);
  await backend.obliterate("outbox.notification");
  expect(new Set((await reconciler.run()).lost.map(({ id }) => id))).toEqual(new Set(ids));
});
