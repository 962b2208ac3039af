import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { expect, test } from "vitest";
import { createSampler } from "../src/create-sampler.ts";
import { openBackendOf, openInstallation } from "./support.ts";
import { addWorkflow, chainOf } from "./workflows.ts";

const NOTE = { id: "note", block: "rowCreate" as const, config: { table: "note", data: {} } };
const log = createLogger({ app: "test", level: "silent" });

interface Bench {
  readonly database: Database;
  readonly backend: QueueBackend;
  /** Takes a sample. @returns the gauges it set, by name and labels. */
  sample(): Promise<Record<string, number>>;
}

async function openBench(): Promise<Bench> {
  const installation = await openInstallation();
  const { database } = installation;
  const backend = await openBackendOf(installation);
  const metrics = createMetrics({ processMetrics: false });
  const take = createSampler({ database, backend, metrics, log });
  return {
    database,
    backend,
    async sample() {
      await take();
      const lines = (await metrics.text()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
      return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
    },
  };
}

/** An event that became due, or was handed off, so long ago (SQL interval). */
async function seed({ pool }: Database, state: "due" | "handed-off", age: string): Promise<string> {
  const id = randomUUID();
  await pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "scheduledAt", "processedAt")
     SELECT $1, 'acme', 'billing.invoice.paid', '{}', CASE WHEN $2 THEN 'PENDING' ELSE 'DONE' END::"OutboxStatus", $2, at, CASE WHEN NOT $2 THEN at END
       FROM (SELECT clock_timestamp() - $3::interval AS at) x`,
    [id, state === "due", age],
  );
  return id;
}

async function leaveReceipt({ pool }: Database, eventId: string, outcome: "done" | "dead"): Promise<void> {
  await pool.query(
    `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") VALUES ($1, 'notification-create', 'acme', $2)`,
    [eventId, outcome],
  );
}

test("the backlog is what is due, and overdue what has been for a minute", async () => {
  const { database, sample } = await openBench();
  for (const age of ["-1 hour", "10 seconds", "50 seconds", "5 minutes", "2 minutes"]) await seed(database, "due", age);
  const gauges = await sample();
  expect(gauges).toMatchObject({ outbox_backlog: 4, outbox_overdue_events: 2 });
  expect(gauges["outbox_oldest_pending_seconds"]).toBeGreaterThan(299);
  expect(gauges["outbox_sampled_timestamp_seconds"]).toBeGreaterThan(Date.now() / 1000 - 60);
});

test("the receipts lag by the oldest hand-off that nobody has finished or given up, and the reading goes on where it stood", async () => {
  const { database, sample } = await openBench();
  const [finished, dead, owing, later] = [
    await seed(database, "handed-off", "4 hours"),
    await seed(database, "handed-off", "3 hours"),
    await seed(database, "handed-off", "2 hours"),
    await seed(database, "handed-off", "1 hour"),
  ];
  await seed(database, "handed-off", "1 second");
  await leaveReceipt(database, finished, "done");
  await leaveReceipt(database, dead, "dead");
  const hours = async (): Promise<number> => Math.floor(((await sample())["outbox_receipt_lag_seconds"] ?? -1) / 3600);
  expect(await hours()).toBe(2);
  await leaveReceipt(database, owing, "done");
  expect(await hours()).toBe(1);
  await leaveReceipt(database, later, "done");
  expect((await sample())["outbox_receipt_lag_seconds"]).toBe(0);
});

test("runs are counted by status: open ones all, ended ones for an hour, and how long the oldest waits to be begun", async () => {
  const { database, sample } = await openBench();
  const workflowId = await addWorkflow({ database, tenantId: "acme" }, { name: "m", trigger: { type: "manual" }, ...chainOf([NOTE]) });
  const runs = [
    ["queued", "10 minutes", null],
    ["queued", "1 minute", null],
    ["running", "1 hour", null],
    ["waiting", "9 days", null],
    ["success", "9 days", "59 minutes"],
    ["error", "1 hour", "1 minute"],
    ["error", "3 hours", "61 minutes"],
    ["rejected", "1 hour", "1 second"],
  ];
  for (const [status, started, ended] of runs) {
    await database.pool.query(
      `INSERT INTO "WorkflowExecution" ("id", "tenantId", "workflowId", "version", "status", "startedBy", "input", "createdAt", "finishedAt", "reasonCode")
       VALUES (gen_random_uuid(), 'acme', $1, 1, $2, 'person', '{}', clock_timestamp() - $3::interval, clock_timestamp() - $4::interval,
         CASE WHEN $2 IN ('error', 'rejected') THEN 'ROW.NOT_FOUND' END)`,
      [workflowId, status, started, ended],
    );
  }
  const gauges = await sample();
  expect(Object.entries(gauges).filter(([name]) => name.startsWith("workflow_runs"))).toEqual([
    ['workflow_runs{state="queued"}', 2],
    ['workflow_runs{state="running"}', 1],
    ['workflow_runs{state="waiting"}', 1],
    ['workflow_runs_ended{state="success"}', 1],
    ['workflow_runs_ended{state="error"}', 1],
    ['workflow_runs_ended{state="rejected"}', 1],
    ['workflow_runs_ended{state="skipped"}', 0],
    ['workflow_runs_ended{state="cancelled"}', 0],
  ]);
  expect(Math.floor((gauges["workflow_oldest_queued_seconds"] ?? 0) / 60)).toBe(10);
});

test("the oldest snapshot is that of a transaction that reads or has written, and of no other", async () => {
  const { database, sample } = await openBench();
  const age = async (): Promise<number | undefined> => (await sample())["database_oldest_snapshot_seconds"];
  const client = await database.pool.connect();
  await client.query("BEGIN");
  expect(await age()).toBe(0);
  await client.query(`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1`);
  expect(await age()).toBeGreaterThan(0);
  await client.query("ROLLBACK");
  await client.query(`BEGIN; CREATE TABLE "Written" ()`);
  expect(await age()).toBeGreaterThan(0);
  await client.query("ROLLBACK");
  client.release();
  expect(await age()).toBe(0);
});

test("records that wait are counted by why, and events whose route is held", async () => {
  const { database, sample } = await openBench();
  const line = `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "scheduledAt", "lastErrorCode")
    SELECT gen_random_uuid(), 'acme', 'record.lead.updated', jsonb_build_object('object', 'Lead', 'recordId', $1::text), $2::"OutboxStatus", true,
      clock_timestamp() + $3::interval, $4`;
  for (const record of ["parked", "parked too"]) await database.pool.query(line, [record, "FAILED", "-1 hour", "HTTP.NETWORK"]);
  await database.pool.query(line, ["held", "PENDING", "1 day", "ROUTER.HELD"]);
  for (const record of ["parked", "parked too", "held", "free"]) await database.pool.query(line, [record, "PENDING", "-1 minute", null]);
  expect(await sample()).toMatchObject({
    'outbox_blocked_lines{state="parked"}': 2,
    'outbox_blocked_lines{state="held"}': 1,
    'outbox_blocked_lines{state="backoff"}': 0,
    outbox_held_events: 1,
  });
});

test("queues are counted by state", async () => {
  const { backend, sample } = await openBench();
  await backend.addAll([
    { queue: "outbox.mail", id: "outbox-a", name: "t", data: {} },
    { queue: "outbox.mail", id: "outbox-b", name: "t", data: {}, delayMs: 60_000 },
  ]);
  expect(await sample()).toMatchObject({
    'queue_jobs{queue="outbox.mail",state="waiting"}': 1,
    'queue_jobs{queue="outbox.mail",state="delayed"}': 1,
    'queue_jobs{queue="outbox.webhook",state="waiting"}': 0,
  });
});

test("each queue has the live processes that work it, those of an older release too, and 0 where none is left", async () => {
  const { database, sample } = await openBench();
  const enter = `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "queueBackend", "queuePrefix", "queues", "consumers", "aliveUntil")
    VALUES (gen_random_uuid(), 'worker', 'here', 1, 'redis', 'p', $1, $2, clock_timestamp() + $3::interval)`;
  await database.pool.query(enter, [["outbox.mail", "outbox.webhook"], ["mail-render"], "30 seconds"]);
  await database.pool.query(enter, [["outbox.mail"], null, "30 seconds"]);
  await database.pool.query(enter, [["outbox.mail", "toolctrl.email"], ["email-send"], "-1 second"]);
  expect(await sample()).toMatchObject({
    'queue_processes{queue="outbox.mail"}': 2,
    'queue_processes{queue="outbox.webhook"}': 1,
    'queue_processes{queue="toolctrl.email"}': 0,
  });
  await database.pool.query(`UPDATE "OutboxDrainer" SET "aliveUntil" = clock_timestamp() - interval '1 second'`);
  expect(await sample()).toMatchObject({ 'queue_processes{queue="outbox.mail"}': 0, 'queue_processes{queue="outbox.webhook"}': 0 });
});

test("while the database is away the sampler rejects nothing, still counts the queues, and does not say that it has sampled", async () => {
  const { database, backend, sample } = await openBench();
  await backend.addAll([{ queue: "outbox.mail", id: "outbox-a", name: "t", data: {} }]);
  await database.close(0);
  expect(await sample()).toMatchObject({
    outbox_sampled_timestamp_seconds: 0,
    'queue_jobs{queue="outbox.mail",state="waiting"}': 1,
  });
});
