import { jobIdFor } from "@toolctrl/queue/job-id";
import type { AddResult, NewJob } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { gate } from "./pull/support.ts";
import { dispatcherOf, insertEvents, letTimePass, openBackend, openDatabase, readEvents, silentLog, statuses } from "./support.ts";

describe("hand-off", () => {
  test("an event becomes one job under its colon-free id, and DONE", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const [id = ""] = await insertEvents(database, 1, { payload: { to: "a@example.com" } });
    expect(await dispatcherOf(database, backend).tick()).toMatchObject({ claimed: 1, done: 1 });
    expect(await backend.find("outbox.mail", jobIdFor(id))).toMatchObject({ id: `outbox-${id}`, state: "waiting" });
    expect(await backend.counts("outbox.mail")).toMatchObject({ waiting: 1 });
    expect(await readEvents(database)).toMatchObject([{ status: "DONE", attempts: 1, retries: 0 }]);
  });

  test("every due event is handed off by one tick, in as many batches as it takes", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await insertEvents(database, 1050);
    expect(await dispatcherOf(database, backend).tick()).toMatchObject({ claimed: 1050, done: 1050 });
    expect(await backend.counts("outbox.mail")).toMatchObject({ waiting: 1050 });
  });

  test("a payload above the inline limit travels by reference", async () => {
    const database = await openDatabase();
    const added: NewJob[] = [];
    const backend = await openBackend();
    const spy = { ping: () => backend.ping(), addAll: (jobs: readonly NewJob[]) => (added.push(...jobs), backend.addAll(jobs)) };
    await insertEvents(database, 1, { payload: { text: "x".repeat(70_000) } });
    await dispatcherOf(database, spy).tick();
    expect(added[0]?.data).not.toHaveProperty("payload");
    expect(await statuses(database)).toEqual({ DONE: 1 });
  });

  test("an event without a route is FAILED at once and never DONE", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const types = ["LEAD.created.now", "leads.lead.created", "mailing.list.sent", "unknown.thing.happened", "record.lead.updated"];
    for (const type of types) await insertEvents(database, 1, { type });
    await insertEvents(database, 1, { type: "mail.message.send" });
    expect(await dispatcherOf(database, backend).tick()).toMatchObject({ done: 1, dead: 5 });
    const rows = await readEvents(database);
    expect(rows.slice(0, 5).map((row) => [row.status, row.lastErrorCode])).toEqual(types.map(() => ["FAILED", "ROUTER.UNROUTABLE"]));
  });

  test("an event without a route is counted, and told to Sentry without its payload", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const sentry = await startHttpPeer();
    const metrics = createMetrics({ processMetrics: false });
    const alerts = createAlerts({ dsn: `http://public@127.0.0.1:${sentry.port}/1`, app: "test", log: silentLog });
    onTestFinished(() => alerts.close(2000));
    await insertEvents(database, 1, { type: "unknown.thing.happened", payload: { secret: "hunter2" } });
    await dispatcherOf(database, backend, { metrics, alerts }).tick();
    const { text } = await sentry.nextRequest();
    expect(text).toContain('"fingerprint":["outbox-unroutable","unknown.thing.happened"]');
    expect(text).not.toContain("hunter2");
    expect(await metrics.text()).toContain("outbox_unroutable_total 1");
  });

  test("a queue name with a colon is refused when the router is made, before anything is claimed", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await insertEvents(database, 1);
    const bad = { prefix: "crm.lead.", target: "queue", queue: "crm:lead", consumers: ["x"] } as never;
    expect(() => dispatcherOf(database, backend, { routes: [bad] })).toThrow(/crm\.lead\..*crm:lead/s);
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", attempts: 0 }]);
  });

  test("of a batch of twenty, one that cannot be enqueued backs off alone for a minute", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await insertEvents(database, 19);
    const [bad = ""] = await insertEvents(database, 1);
    // The queue itself refuses the entry: BullMQ takes no id with a colon that does not split in three.
    const poisoned = {
      ping: () => backend.ping(),
      addAll: (jobs: readonly NewJob[]) => backend.addAll(jobs.map((job) => (job.id === jobIdFor(bad) ? { ...job, id: "a:b" } : job))),
    };
    expect(await dispatcherOf(database, poisoned).tick()).toMatchObject({ done: 19, retried: 1 });
    const [row] = await readEvents(database, [bad]);
    expect(row).toMatchObject({ status: "PENDING", attempts: 1, retries: 1, lastErrorCode: "QUEUE.REJECTED" });
    expect(row?.lastError).toBeTruthy();
    expect(row?.dueIn).toBeGreaterThan(55);
    expect(row?.dueIn).toBeLessThanOrEqual(60);
  });

  test("poison that fills the batch does not hold back a good event, waits 1, 2, 4, 8, 16, 32 minutes, then is FAILED", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    const poison = await insertEvents(database, 10);
    const [good = ""] = await insertEvents(database, 1);
    const bad = new Set(poison.map((id) => jobIdFor(id)));
    const poisoned = {
      ping: () => backend.ping(),
      addAll: (jobs: readonly NewJob[]) => backend.addAll(jobs.map((job) => (bad.has(job.id) ? { ...job, id: "a:b" } : job))),
    };
    const metrics = createMetrics({ processMetrics: false });
    const dispatcher = dispatcherOf(database, poisoned, { metrics, settings: { batchSize: 10 } });
    await dispatcher.tick();
    await dispatcher.tick();
    expect(await readEvents(database, [good])).toMatchObject([{ status: "DONE" }]);
    const waits: number[] = [];
    for (let retry = 1; retry <= 6; retry += 1) {
      const [row] = await readEvents(database, poison);
      waits.push(Math.round((row?.dueIn ?? 0) / 60));
      await letTimePass(database);
      await dispatcher.tick();
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32]);
    const rows = await readEvents(database, poison);
    expect(new Set(rows.map((row) => `${row.status} ${row.retries} ${row.attempts}`))).toEqual(new Set(["FAILED 7 7"]));
    // Ten events of seven tries each, the last of which nobody puts back, and the good one.
    const text = await metrics.text();
    expect(text).toContain("outbox_claims_total 71");
    expect(text).toContain('outbox_handoffs_total{queue="outbox.mail"} 1');
    expect(text).toContain('outbox_handoff_errors_total{queue="outbox.mail",code="QUEUE.REJECTED"} 70');
    expect(text).toContain("outbox_retries_total 60");
    expect(text).toContain('outbox_settles_total{outcome="retry"} 60');
    expect(text).toContain('outbox_dead_total{code="QUEUE.REJECTED"} 10');
  });

  test("one event of a quiet tenant is handed off within three ticks of a tenant with ten thousand", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await insertEvents(database, 10_000, { tenantId: "loud" });
    const [quiet = ""] = await insertEvents(database, 1, { tenantId: "quiet" });
    const order: string[] = [];
    const watched = {
      ping: () => backend.ping(),
      addAll(jobs: readonly NewJob[]) {
        order.push(...jobs.map((job) => job.id));
        return backend.addAll(jobs);
      },
    };
    await dispatcherOf(database, watched).tick();
    // A tick of the seed claims one batch of 100; ours goes on while there is more.
    expect(order.indexOf(jobIdFor(quiet))).toBeLessThan(300);
    expect(order).toHaveLength(10_001);
  });

  test("two dispatchers at once hand off each event once", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await insertEvents(database, 2000);
    const reports = await Promise.all([dispatcherOf(database, backend).tick(), dispatcherOf(database, backend).tick()]);
    expect(reports.reduce((sum, report) => sum + report.done, 0)).toBe(2000);
    expect(await backend.counts("outbox.mail")).toMatchObject({ waiting: 2000 });
    expect((await readEvents(database)).filter((row) => row.attempts !== 1)).toEqual([]);
  });

  test("claims that a killed dispatcher left are handed off once their lease is over, with one attempt more", async () => {
    const database = await openDatabase();
    const backend = await openBackend();
    await insertEvents(database, 100);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "attempts" = 1, "claimMode" = 'batch', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() + interval '1 minute'`,
    );
    const metrics = createMetrics({ processMetrics: false });
    const dispatcher = dispatcherOf(database, backend, { metrics });
    expect(await dispatcher.tick()).toMatchObject({ claimed: 0 });
    await letTimePass(database);
    expect(await dispatcher.tick()).toMatchObject({ claimed: 100, done: 100 });
    const rows = await readEvents(database);
    expect(new Set(rows.map((row) => `${row.status} ${row.attempts} ${row.crashes}`))).toEqual(new Set(["DONE 2 0"]));
    expect(await metrics.text()).toContain("outbox_reclaims_total 100");
  });

  test("a claim whose lease runs out is handed off while more is published than one tick gets through", async () => {
    const database = await openDatabase();
    const [left = ""] = await insertEvents(database, 1);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "attempts" = 1, "claimMode" = 'batch', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() + interval '1 minute'`,
    );
    await insertEvents(database, 20);
    const [draining, expired] = [gate(), gate()];
    let publishes = true;
    const busy = {
      ping: () => Promise.resolve(),
      async addAll(jobs: readonly NewJob[]) {
        draining.open();
        await expired.opened;
        if (publishes) await insertEvents(database, jobs.length);
        return jobs.map((): AddResult => ({ ok: true }));
      },
    };
    const tick = dispatcherOf(database, busy, { settings: { batchSize: 5, intervalMs: 20 } }).tick();
    await draining.opened;
    await database.pool.query(`UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() WHERE "id" = $1`, [left]);
    expired.open();
    try {
      await waitFor(async () => (await readEvents(database, [left]))[0]?.status === "DONE", { what: "the claim to be handed off" });
    } finally {
      publishes = false;
    }
    expect(await tick).toMatchObject({ leaseLost: 0 });
    expect(await statuses(database)).toEqual({ DONE: expect.any(Number) });
  });
});

describe("the queue's server away", () => {
  test("never up: the tick ends, nothing stays claimed or counts as a failure; up again: all are handed off once", async () => {
    const database = await openDatabase();
    const reserved = await startRedis();
    const { url, port } = reserved;
    await reserved.stop();
    const backend = await openBackend({ redisUrl: url, addTimeoutMs: 1000 });
    await insertEvents(database, 50);
    const dispatcher = dispatcherOf(database, backend);
    expect(await dispatcher.tick()).toMatchObject({ done: 0, snoozed: 50 });
    expect(await statuses(database)).toEqual({ PENDING: 50 });
    const again = await startRedis({ port });
    onTestFinished(() => again.stop());
    await letTimePass(database);
    while ((await dispatcher.tick()).done === 0) await letTimePass(database);
    expect(await statuses(database)).toEqual({ DONE: 50 });
    expect(await backend.counts("outbox.mail")).toMatchObject({ waiting: 50 });
    expect((await readEvents(database)).every((row) => row.retries === 0)).toBe(true);
  });

  test("demoted to a replica: events are postponed, not DONE and not FAILED; promoted again: handed off once", async () => {
    const database = await openDatabase();
    const [primary, server] = await Promise.all([startRedis(), startRedis()]);
    onTestFinished(async () => void (await Promise.all([primary.stop(), server.stop()])));
    const backend = await openBackend({ redisUrl: server.url, addTimeoutMs: 2000 });
    const dispatcher = dispatcherOf(database, backend);
    await insertEvents(database, 5);
    await dispatcher.tick();
    await redisCommand(server.port, `REPLICAOF 127.0.0.1 ${primary.port}`);
    await insertEvents(database, 20);
    await dispatcher.tick();
    expect(await statuses(database)).toEqual({ DONE: 5, PENDING: 20 });
    await redisCommand(server.port, "REPLICAOF NO ONE");
    await letTimePass(database);
    while ((await dispatcher.tick()).done === 0) await letTimePass(database);
    expect(await statuses(database)).toEqual({ DONE: 25 });
  });
});

/** Sends one inline command; the answer must not be an error. */
async function redisCommand(port: number, command: string): Promise<void> {
  const { connect } = await import("node:net");
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`${command}\r\n`));
    socket.once("data", (reply) => {
      socket.end();
      if (reply.toString().startsWith("-")) reject(new Error(reply.toString()));
      else resolve();
    });
    socket.once("error", reject);
  });
}
