// Mostly waits: for leases to end.
import { CodedError } from "@toolctrl/foundation/errors";
import type { AddResult, NewJob } from "@toolctrl/queue/port";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { letTimePass, openDatabase, readEvents, statuses } from "../support.ts";
import { effectOf, gate, insertRecordEvents, mark, marks, openPull, workersOf } from "./support.ts";

const isDone = (count: number, database: Parameters<typeof statuses>[0]) => async (): Promise<boolean> =>
  (await statuses(database)).DONE === count;

describe("independent workers", () => {
  test("many workers over many clients: each record's effects in insert order, each once", async () => {
    const database = await openPull();
    for (let round = 0; round < 12; round += 1) {
      for (let record = 0; record < 15; record += 1) await insertRecordEvents(database, 1, { record: String(record) });
    }
    const effect = effectOf((tx, event) => mark(tx, event.id, `${event.recordKey} ${event.position}`));
    const others = await Promise.all([0, 1].map(() => openDatabase(urlOf(database))));
    for (const client of [database, ...others]) workersOf(client, [effect]).start();
    await waitFor(isDone(180, database), { what: "every event to be DONE", timeoutMs: 30_000 });
    const effects = await marks(database);
    expect(effects).toHaveLength(180);
    for (let record = 0; record < 15; record += 1) {
      const positions = effects.filter(({ text }) => text.startsWith(`Lead/${record} `)).map(({ text }) => Number(text.split(" ")[1]));
      expect(positions).toHaveLength(12);
      expect(positions).toEqual([...positions].sort((a, b) => a - b));
    }
    expect((await readEvents(database)).filter((row) => row.attempts !== 1)).toEqual([]);
  });

  test("with twice as many events waiting for one lock as there are workers, another record's event is not held up", async () => {
    const database = await openPull();
    await database.pool.query(`INSERT INTO "Parent" ("id") VALUES ('p')`);
    const cascade = await database.pool.connect();
    await cascade.query("BEGIN");
    await cascade.query(`SELECT FROM "Parent" FOR UPDATE`);
    for (let child = 0; child < 10; child += 1) await insertRecordEvents(database, 1, { record: `child-${child}` });
    const workers = workersOf(
      database,
      [
        effectOf(async (tx, event) => {
          if (event.recordKey?.startsWith("Lead/child") === true) await tx.$queryRawUnsafe(`SELECT 1 FROM "Parent" FOR UPDATE`);
          await mark(tx, event.id);
        }),
      ],
      // So long that an event that had to wait for one of them would not be done before the check gives up.
      { settings: { parallelism: 4, lockTimeoutMs: 50_000, intervalMs: 50 } },
    );
    workers.start();
    for (let n = 0; n < 10; n += 1) {
      const [id = ""] = await insertRecordEvents(database, 1, { record: `free-${n}` });
      workers.wake();
      await waitFor(async () => (await readEvents(database, [id]))[0]?.status === "DONE", { what: "the unrelated event to be DONE" });
    }
    expect(await statuses(database)).toMatchObject({ DONE: 10 });
    await cascade.query("COMMIT");
    cascade.release();
    await waitFor(isDone(20, database), { what: "the cascade's events to be DONE", timeoutMs: 20_000 });
    expect((await readEvents(database)).filter((row) => row.retries + row.crashes > 0)).toEqual([]);
    expect(await marks(database)).toHaveLength(20);
  });

  test("a head that dies lets its line go on, other lines never wait, and a parked line is released in order", async () => {
    const database = await openPull();
    const routes = [
      { prefix: "record.", target: "database", consumers: [] },
      { prefix: "record.deal.", target: "database", consumers: [], deadHead: "park" },
    ] as const;
    const [dead = "", behind] = await insertRecordEvents(database, 3, {
      record: "parked",
      type: "record.deal.updated",
      payload: { bad: true },
    });
    const [, goesOn] = await insertRecordEvents(database, 2, { record: "going", payload: { bad: true } });
    const [other] = await insertRecordEvents(database, 1, { record: "other" });
    await database.pool.query(`UPDATE "OutboxEvent" SET "payload" = "payload" - 'bad' WHERE "id" = ANY($1)`, [[behind, goesOn]]);
    const effect = effectOf(async (tx, event) => {
      if ((event.payload as { bad?: boolean }).bad === true) throw new Error("bad");
      await mark(tx, event.id);
    });
    const workers = workersOf(database, [effect], { settings: { maxRetries: 0 }, routes });
    while ((await workers.runOnce()) !== null);
    expect((await marks(database)).map(({ eventId }) => eventId)).toEqual([goesOn, other]);
    await database.pool.query(`UPDATE "OutboxEvent" SET "blocksLine" = false WHERE "id" = $1`, [dead]);
    await database.pool.query(`UPDATE "OutboxEvent" SET "payload" = "payload" - 'bad'`);
    while ((await workers.runOnce()) !== null);
    const effects = (await marks(database)).map(({ eventId }) => eventId);
    expect(effects.indexOf(behind ?? "")).toBe(2);
    expect(effects).toHaveLength(4);
  });

  test("a slow effect keeps its claim for ten leases, with every worker and every connection of the pool busy", async () => {
    const database = await openPull();
    for (let n = 0; n < 4; n += 1) await insertRecordEvents(database, 1, { record: String(n) });
    let runs = 0;
    const release = gate();
    const workers = workersOf(
      database,
      [
        effectOf(async (tx, event) => {
          runs += 1;
          await mark(tx, event.id);
          await release.opened;
        }),
      ],
      { settings: { leaseMs: 1_000 } },
    );
    const rival = workersOf(await openDatabase(urlOf(database)), [effectOf((tx, event) => mark(tx, event.id, "rival"))], {
      settings: { leaseMs: 1_000 },
    });
    workers.start();
    await waitFor(() => runs === 4, { what: "every worker to be busy" });
    const held = await Promise.all(Array.from({ length: 16 }, () => database.pool.connect()));
    const { rows } = await (held[0] ?? database.pool).query<{ at: Date }>(`SELECT clock_timestamp() + interval '10 seconds' AS at`);
    await waitFor(
      async () => {
        expect(await rival.runOnce()).toBeNull();
        return (await held[0]?.query(`SELECT 1 WHERE clock_timestamp() > $1`, [rows[0]?.at]))?.rowCount === 1;
      },
      { what: "ten leases to pass", timeoutMs: 25_000 },
    );
    for (const client of held) client.release();
    release.open();
    await waitFor(isDone(4, database), { what: "the slow events to be DONE" });
    expect(runs).toBe(4);
    expect((await marks(database)).map(({ text }) => text)).toEqual(["done", "done", "done", "done"]);
    expect((await readEvents(database)).every((row) => row.attempts === 1 && row.crashes === 0)).toBe(true);
  });

  test("a payload that ends its process each time is FAILED when its crash budget is spent, and parks where its route says so", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1, { record: "deal", type: "record.deal.updated" });
    await insertRecordEvents(database, 1, { record: "lead" });
    const routes = [
      { prefix: "record.", target: "database", consumers: [] },
      { prefix: "record.deal.", target: "database", consumers: [], deadHead: "park" },
    ] as const;
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))], { settings: { crashBudget: 2 }, routes });
    const dies = `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'pull', "attempts" = "attempts" + 1, "lockToken" = gen_random_uuid(),
      "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "status" IN ('PENDING', 'PROCESSING')`;
    await database.pool.query(dies);
    await database.pool.query(`UPDATE "OutboxEvent" SET "crashes" = 1`);
    expect(await workers.runOnce()).toBeNull();
    const { rows } = await database.pool.query(
      `SELECT "status"::text, "crashes", "retries", "blocksLine", "lastErrorCode" FROM "OutboxEvent" ORDER BY "position"`,
    );
    expect(rows).toEqual([
      { status: "FAILED", crashes: 2, retries: 0, blocksLine: true, lastErrorCode: "DB.LEASE_LOST" },
      { status: "FAILED", crashes: 2, retries: 0, blocksLine: false, lastErrorCode: "DB.LEASE_LOST" },
    ]);
  });

  test("closing claims nothing more, lets the running attempts end, and gives back no claim", async () => {
    const database = await openPull();
    for (let n = 0; n < 6; n += 1) await insertRecordEvents(database, 1, { record: String(n) });
    let running = 0;
    const release = gate();
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        running += 1;
        await release.opened;
        await mark(tx, event.id);
      }),
    ]);
    workers.start();
    await waitFor(() => running === 4, { what: "every worker to be busy" });
    const early = workers.close(50);
    await expect(early).rejects.toThrow(/running attempts/);
    expect(await statuses(database)).toEqual({ PROCESSING: 4, PENDING: 2 });
    release.open();
    await workers.close(10_000);
    expect(await statuses(database)).toEqual({ DONE: 4, PENDING: 2 });
  });

  test("a hint wakes one idle worker, which wakes the next when it finds work; polling alone finds it too", async () => {
    const database = await openPull();
    const effect = effectOf((tx, event) => mark(tx, event.id));
    const [hinted, polled] = [createMetrics({ processMetrics: false }), createMetrics({ processMetrics: false })];
    const woken = workersOf(database, [effect], { metrics: hinted, settings: { intervalMs: 3_600_000 } });
    woken.start();
    await insertRecordEvents(database, 1, { record: "a" });
    await waitFor(async () => (await statuses(database)).DONE === 1 || (woken.wake(), false), { what: "the hint to be followed" });
    for (let n = 0; n < 20; n += 1) await insertRecordEvents(database, 1, { record: String(n) });
    woken.wake();
    await waitFor(isDone(21, database), { what: "every event to be DONE" });
    await woken.close(5_000);
    workersOf(database, [effect], { metrics: polled, settings: { intervalMs: 50 } }).start();
    await insertRecordEvents(database, 1, { record: "b" });
    await waitFor(isDone(22, database), { what: "polling to find the event" });
    expect(await marks(database)).toHaveLength(22);
    expect(await hinted.text()).toMatch(/^outbox_wakeups_total\{source="hint"\} [1-9]/m);
    expect(await hinted.text()).not.toContain('source="poll"');
    // The event may have been there for the first look, before any pause.
    await waitFor(async () => /^outbox_wakeups_total\{source="poll"\} [1-9]/m.test(await polled.text()), {
      what: "a pause to end by polling",
    });
  });

  test("in batch mode, or while a switch is under way, nothing is claimed", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))]);
    await database.pool.query(`UPDATE "OutboxMode" SET "desired" = 'batch'`);
    expect(await workers.runOnce()).toBeNull();
    await database.pool.query(`UPDATE "OutboxMode" SET "desired" = 'pull', "epoch" = 7`);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    await insertRecordEvents(database, 1);
    // The epoch it knows is over: the claim finds out, and the mode is read again.
    await database.pool.query(`UPDATE "OutboxMode" SET "epoch" = 9`);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    await insertRecordEvents(database, 1);
    await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'batch', "desired" = 'batch', "epoch" = 10`);
    expect(await workers.runOnce()).toBeNull();
  });
});

describe("queue routes", () => {
  const routes = [
    { prefix: "mail.", target: "queue", queue: "outbox.mail", consumers: ["mail-render"] },
    { prefix: "record.", target: "database", consumers: [] },
  ] as const;

  test("hand off in order per record", async () => {
    const database = await openPull();
    for (let n = 0; n < 40; n += 1)
      await insertRecordEvents(database, 1, { type: "mail.lead.send", record: String(n % 4), payload: { n } });
    const added: NewJob[] = [];
    const backend = {
      addAll: (jobs: readonly NewJob[]) => (added.push(...jobs), Promise.resolve(jobs.map((): AddResult => ({ ok: true })))),
    };
    workersOf(database, [], { routes, backend }).start();
    await waitFor(isDone(40, database), { what: "every event to be DONE" });
    const payloads = added.map(({ data }) => (data as { payload: { recordId: string; n: number } }).payload);
    for (const record of ["0", "1", "2", "3"]) {
      const order = payloads.filter(({ recordId }) => recordId === record).map(({ n }) => n);
      expect(order).toHaveLength(10);
      expect(order).toEqual([...order].sort((a, b) => a - b));
    }
  });

  test("while the queue is away its events are put off without being counted, and those of database routes go on", async () => {
    const database = await openPull();
    for (let n = 0; n < 8; n += 1) await insertRecordEvents(database, 1, { type: "mail.lead.send", record: String(n) });
    const [free = ""] = await insertRecordEvents(database, 1, { record: "free" });
    const unreachable = new CodedError("QUEUE.UNREACHABLE", "expected an answer, got none");
    let away = true;
    let waiting = 0;
    const release = gate();
    const backend = {
      async addAll(jobs: readonly NewJob[]): Promise<AddResult[]> {
        if (!away) return jobs.map(() => ({ ok: true }));
        waiting += 1;
        // Slow to say so, as a network that swallows everything.
        if (waiting > 1) await release.opened;
        return jobs.map(() => ({ ok: false, error: unreachable }));
      },
    };
    const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))], {
      routes,
      backend,
      settings: { parallelism: 2, intervalMs: 50 },
    });
    workers.start();
    await waitFor(async () => (await readEvents(database, [free]))[0]?.status === "DONE", { what: "the database event to be DONE" });
    away = false;
    release.open();
    await letTimePass(database);
    await waitFor(async () => (await letTimePass(database), (await statuses(database)).DONE === 9), {
      what: "every event to be DONE",
      timeoutMs: 20_000,
    });
    expect((await readEvents(database)).every((row) => row.retries === 0)).toBe(true);
  });
});

function urlOf(database: Parameters<typeof statuses>[0]): string {
  return String((database.pool.options as { connectionString?: string }).connectionString);
}
