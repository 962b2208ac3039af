import { createRouter } from "@toolctrl/event-router/router";
import { describe, expect, test } from "vitest";
import { requeueEvents } from "../src/actions.ts";
import { outboxStats, traceEvent } from "../src/stats.ts";
import { seedEvent, seedReceipt } from "./seed-event.ts";
import { dispatcherOf, insertEvents, openBackend, openDatabase } from "./support.ts";

const router = createRouter();

describe("trace", () => {
  test("tells the whole story of a mail in order: published, handed off, job, rendered, sent, delivered, receipts, operator", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const { pool } = database;
    const [id = ""] = await insertEvents(database, 1);
    await dispatcherOf(database, backend).tick();
    await pool.query(
      `INSERT INTO "EmailMessage" ("id", "eventId", "tenantId", "messageId", "fromAddress", "subject") VALUES (gen_random_uuid(), $1, 'acme', '<m1@x>', 'a@x', 's')`,
      [id],
    );
    await seedReceipt(pool, id, "mail-render");
    await pool.query(
      `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "state", "externalId", "attempts", "unknowns", "sentAt")
       VALUES (gen_random_uuid(), $1, 'acme', 'email-send', 'sent', '<m1@x>', 2, 1, clock_timestamp())`,
      [id],
    );
    await pool.query(
      `INSERT INTO "EmailDelivery" ("messageId", "recipient", "state", "attempts", "replyCode", "reply")
       SELECT "id", 'bob@y', 'rejected', 1, 550, 'no such user' FROM "EmailMessage"`,
    );
    await seedReceipt(pool, id, "email-send");
    await requeueEvents({ pool, router }, { ids: [id], actor: "ann", reason: "looked odd" });

    // A trace tells times to the millisecond, in which a fast machine does more than one thing.
    await pool.query(
      `UPDATE "OutboxEvent" SET "createdAt" = "createdAt" - interval '1 minute';
       UPDATE "EmailMessage" SET "createdAt" = "createdAt" + interval '1 second';
       UPDATE "OutboxReceipt" SET "updatedAt" = "updatedAt" + CASE "consumer" WHEN 'mail-render' THEN interval '2 seconds' ELSE interval '5 seconds' END;
       UPDATE "OutboxIntent" SET "sentAt" = "sentAt" + interval '3 seconds';
       UPDATE "EmailDelivery" SET "updatedAt" = "updatedAt" + interval '4 seconds';
       UPDATE "OutboxAction" SET "createdAt" = "createdAt" + interval '6 seconds'`,
    );

    const trace = await traceEvent({ db: pool, router, backend }, id);
    const told = trace.steps.map((step) => step.step);
    expect(told).toEqual(["published", "job", "handed-off", "effect", "receipt", "intent", "delivery", "receipt", "action"]);
    expect(trace.route).toEqual({ prefix: "mail.", target: "outbox.mail", consumers: ["mail-render", "email-send"] });
    const detailOf = (step: string): string =>
      trace.steps
        .filter((entry) => entry.step === step)
        .map((entry) => `${entry.detail} | ${entry.error}`)
        .join("\n");
    expect(detailOf("intent")).toBe("email-send: sent as <m1@x>, attempts 2, outcome unknown 1 time(s) | null");
    expect(detailOf("delivery")).toBe("bob@y: rejected, attempts 1 | 550 no such user");
    expect(detailOf("action")).toBe("requeue from DONE by ann: looked odd | null");
    expect(trace.jobs.map((entry) => [entry.queue, entry.generation, entry.view?.state ?? null])).toEqual([
      ["outbox.mail", 0, "waiting"],
      ["toolctrl.email", 0, null],
      ["outbox.mail", 1, null],
      ["toolctrl.email", 1, null],
    ]);
    expect(trace.event).not.toHaveProperty("payload");
    expect(trace.verdict).toMatchObject({ state: "waiting" });
  });

  test("finds the job of each subscription that a hook is for, and the event is under way while one of them waits", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const { pool } = database;
    const id = await seedEvent(pool, { status: "DONE", type: "plugin.hook.lead.created" });
    await seedReceipt(pool, id, "plugin-fanout");
    await seedReceipt(pool, id, "plugin-invoke/s1");
    await seedReceipt(pool, id, "plugin-invoke/s3", "dead");
    await pool.query(
      `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "target", "state", "externalId", "sentAt")
       SELECT gen_random_uuid(), $1, 'acme', 'plugin-invoke', target, state, target, CASE state WHEN 'sent' THEN clock_timestamp() END
         FROM (VALUES ('s1', 'sent'), ('s2', 'pending'), ('s3', 'failed')) AS t(target, state)`,
      [id],
    );
    await pool.query(
      `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "queues", "queueBackend", "queuePrefix", "aliveUntil")
       VALUES (gen_random_uuid(), 'worker-general', 'h', 1, '{outbox.plugin-hook,toolctrl.plugin-invoke}', 'redis', $1, clock_timestamp() + interval '1 hour')`,
      [backend.prefix],
    );
    const queue = "toolctrl.plugin-invoke";
    await backend.addAll([{ queue, id: `plugin-${id}-s2`, name: "plugin.invoke", data: {} }]);
    const trace = await traceEvent({ db: pool, router, backend }, id);
    expect(trace.jobs.map((job) => [job.queue, job.jobId, job.view?.state ?? null])).toEqual([
      ["outbox.plugin-hook", `outbox-${id}`, null],
      [queue, `plugin-${id}-s2`, "waiting"],
      [queue, `plugin-${id}-s3`, null],
      [queue, `plugin-${id}-s1`, null],
    ]);
    expect(trace.verdict).toMatchObject({ state: "handed-off" });
    expect(trace.intents.map(({ target, state }) => `${target} ${state}`).toSorted()).toEqual(["s1 sent", "s2 pending", "s3 failed"]);
    await pool.query(`UPDATE "OutboxIntent" SET "state" = 'sent', "sentAt" = clock_timestamp() WHERE "target" = 's2'`);
    await backend.obliterate(queue);
    await seedReceipt(pool, id, "plugin-invoke", "dead");
    expect((await traceEvent({ db: pool, router, backend }, id)).verdict).toMatchObject({ state: "dead" });
    expect((await outboxStats({ db: pool, router, backend })).dead).toMatchObject([{ consumer: "plugin-invoke", jobs: 1 }]);
  });

  test("knows what a dead receipt was written for: of an event that was requeued since, the job that is gone is lost", async () => {
    const { pool } = await openDatabase();
    const backend = await openBackend();
    const id = await seedEvent(pool, { status: "DONE" });
    await pool.query(
      `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "queues", "queueBackend", "queuePrefix", "aliveUntil")
       VALUES (gen_random_uuid(), 'worker-general', 'h', 1, '{outbox.notification}', 'redis', $1, clock_timestamp() + interval '1 hour')`,
      [backend.prefix],
    );
    await seedReceipt(pool, id, "notification-create", "dead");
    const stateOf = async (): Promise<string> => (await traceEvent({ db: pool, router, backend }, id)).verdict.state;
    expect(await stateOf()).toBe("dead");
    await pool.query(`UPDATE "OutboxEvent" SET "generation" = 1 WHERE "id" = $1`, [id]);
    expect(await stateOf()).toBe("lost");
  });

  test("of a type that this version has no route for says so, and not that it is finished", async () => {
    const { pool } = await openDatabase();
    const id = await seedEvent(pool, { status: "DONE", type: "product.order.placed" });
    const trace = await traceEvent({ db: pool, router, backend: await openBackend() }, id);
    expect(trace).toMatchObject({ route: null, verdict: { state: "no-route", why: expect.stringContaining("what it owes is unknown") } });
    expect(trace.steps.find(({ step }) => step === "handed-off")?.detail).toMatch(/^to a queue that is unknown here, /);
  });

  test("keeps the failures that a requeue made the row forget", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "FAILED" });
    await requeueEvents({ pool: database.pool, router }, { ids: [id], actor: "ann" });
    const trace = await traceEvent({ db: database.pool, router, backend: await openBackend() }, id);
    expect(trace.steps.find((step) => step.step === "action")).toMatchObject({
      detail: "requeue from FAILED by ann",
      error: "had QUEUE.REJECTED: refused",
    });
  });

  test("works with the queue's server away, and says so of each job", async () => {
    const database = await openDatabase();
    const id = await seedEvent(database.pool, { status: "DONE" });
    const backend = await openBackend({ redisUrl: "redis://127.0.0.1:1", addTimeoutMs: 300 });
    const trace = await traceEvent({ db: database.pool, router, backend }, id);
    expect(trace.jobs).toEqual([expect.objectContaining({ view: null, error: expect.any(String) })]);
  });

  test("of an unknown id is DB.EVENT_NOT_FOUND", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await expect(traceEvent({ db: database.pool, router, backend }, "01970000-0000-7000-8000-000000000000")).rejects.toMatchObject({
      code: "DB.EVENT_NOT_FOUND",
    });
  });
});

describe("stats", () => {
  test("counts by state and route, finds the oldest due event, dead jobs and DONE events without receipts", async () => {
    const database = await openDatabase();
    const { pool } = database;
    const backend = await openBackend();
    await seedEvent(pool, { status: "PENDING", age: "10 minutes" });
    await seedEvent(pool, { status: "PENDING", age: "-1 hour" });
    await seedEvent(pool, { status: "FAILED", type: "nowhere.to.go" });
    const finished = await seedEvent(pool, { status: "DONE", type: "mail.message.send" });
    await seedReceipt(pool, finished, "mail-render");
    await seedReceipt(pool, finished, "email-send");
    const died = await seedEvent(pool, { status: "DONE", type: "mail.message.send" });
    await seedReceipt(pool, died, "mail-render");
    await seedReceipt(pool, died, "email-send", "dead");
    const lost = await seedEvent(pool, { status: "DONE", type: "audit.entry.record" });
    const stats = await outboxStats({ db: pool, router, backend });
    expect(stats.byStatus).toEqual({ PENDING: 2, PROCESSING: 0, DONE: 3, FAILED: 1, CANCELLED: 0 });
    expect(stats.byRoute.map((row) => [row.route, row.target])).toEqual([
      ["audit.", "outbox.audit"],
      ["billing.", "outbox.notification"],
      ["mail.", "outbox.mail"],
      [null, null],
    ]);
    expect(stats.backlog).toMatchObject({ due: 1, expiredClaims: 0 });
    expect(Math.round((stats.backlog.oldestDueSeconds ?? 0) / 60)).toBe(10);
    expect(stats.dead).toMatchObject([{ consumer: "email-send", jobs: 1, newestDetail: "MAIL.REJECTED: 550 no such user" }]);
    expect(stats.held.map(({ consumer, events, dead }) => ({ consumer, events, dead }))).toEqual([
      { consumer: "audit-append", events: 1, dead: 0 },
      { consumer: "email-send", events: 1, dead: 1 },
    ]);
    await pool.query(`UPDATE "OutboxEvent" SET "generation" = 1 WHERE "id" = $1`, [died]);
    expect((await outboxStats({ db: pool, router, backend })).held).toContainEqual(
      expect.objectContaining({ consumer: "email-send", events: 1, dead: 0 }),
    );
    expect(stats.queues.every((queue) => queue.consumers === 0 && queue.counts !== null)).toBe(true);
    expect(lost).not.toBe("");
  });

  test("counts a DONE event whose replay is not finished, or was given up", async () => {
    const database = await openDatabase();
    const { pool } = database;
    const [, dead = "", finished = ""] = await Promise.all(
      [0, 1, 2].map(async () => {
        const id = await seedEvent(pool, { status: "DONE", effectEpoch: 1, replayConsumer: "notification-create" });
        await seedReceipt(pool, id, "notification-create");
        return id;
      }),
    );
    await seedReceipt(pool, dead, "notification-create", "dead", 1);
    await seedReceipt(pool, finished, "notification-create", "done", 1);
    const { held } = await outboxStats({ db: pool, router, backend: await openBackend() });
    expect(held).toMatchObject([{ consumer: "notification-create", events: 2, dead: 1 }]);
  });

  test("of an empty outbox is all zeros", async () => {
    const database = await openDatabase();
    const stats = await outboxStats({ db: database.pool, router, backend: await openBackend() });
    expect(stats).toMatchObject({
      byRoute: [],
      backlog: { due: 0, oldestDueSeconds: null },
      dead: [],
      held: [],
      processes: [],
      mode: { mode: "batch" },
    });
  });
});
