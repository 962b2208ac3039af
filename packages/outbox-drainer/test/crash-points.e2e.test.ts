import { createDatabase, type Database } from "@toolctrl/db/client";
import { jobEnvelopeSchema } from "@toolctrl/foundation/envelope";
import type { QueueName } from "@toolctrl/foundation/queues";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { BULLMQ_BACKGROUND } from "@toolctrl/testkit/crash-run";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import { storyOf, type LaneSuite } from "@toolctrl/testkit/lane-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase, type TestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { dispatcherOf, letTimePass, silentLog, statuses } from "./support.ts";

interface World {
  readonly testDatabase: TestDatabase;
  readonly database: Database;
  readonly redis: { readonly url: string; readonly prefix: string };
  readonly backend: QueueBackend;
}

/** `lost`: a dispatcher that held it has died before. The ids put events into both lanes, the same in every run. */
const EVENTS: ReadonlyArray<{ id: string; type: string; queue: QueueName | null; big?: true; lost?: true }> = [
  { id: "00000000-0000-7000-8000-000000000001", type: "mail.message.send", queue: "outbox.mail" },
  { id: "00000000-0000-7000-8000-000000000002", type: "audit.entry.record", queue: "outbox.audit" },
  { id: "00000000-0000-7000-8000-000000000003", type: "nobody.knows.this", queue: null },
  { id: "00000000-0000-7000-8000-000000000004", type: "billing.invoice.paid", queue: "outbox.notification", big: true },
  { id: "00000000-0000-7000-8000-000000000006", type: "mail.message.send", queue: "outbox.mail", lost: true },
];
/** Less than there are events, so that one claim is made while another's events are handed off. */
const BATCH_SIZE = 3;
const APP = "one-tick";
const QUEUES = ["outbox.mail", "outbox.audit", "outbox.notification"] as const;

async function open(kind: "redis" | "postgres"): Promise<World> {
  const testDatabase = await createTestDatabase();
  const redis = createRedisNamespace();
  const database = await createDatabase({ url: testDatabase.url, poolMax: 4, app: "test", wakeup: false });
  const server = { redisUrl: redis.url, databaseUrl: testDatabase.url, prefix: redis.prefix };
  const backend = await createQueueBackend({ kind, ...server, attempts: 3, backoffMs: 10, log: silentLog });
  for (const { id, type, big, lost } of EVENTS) {
    await database.pool.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "attempts", "lockedUntil", "lockToken", "claimMode")
       VALUES ($1, 'acme', $2, $3, $4::"OutboxStatus", $5, $6::timestamptz, $7, $8)`,
      [
        id,
        type,
        { text: big === true ? "x".repeat(80_000) : "Hello" },
        ...(lost === true ? ["PROCESSING", 1, "2026-01-01T00:00:00Z", id, "batch"] : ["PENDING", 0, null, null, null]),
      ],
    );
  }
  return { testDatabase, database, redis, backend };
}

const suiteOn = (kind: "redis" | "postgres"): LaneSuite<World> => ({
  open: () => open(kind),
  env: ({ testDatabase, redis }) => ({
    KIND: kind,
    DATABASE_URL: testDatabase.url,
    REDIS_URL: redis.url,
    PREFIX: redis.prefix,
    BATCH_SIZE: String(BATCH_SIZE),
    APP,
  }),
  async settle({ database }) {
    await waitFor(
      async () =>
        (await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`, [APP]))
          .rowCount === 0,
      { what: "the sessions of the dispatcher to end" },
    );
  },
  async recover({ database, backend }) {
    await letTimePass(database);
    const dispatcher = dispatcherOf(database, backend, { settings: { batchSize: BATCH_SIZE } });
    // A tick takes over no more claims than a batch holds.
    while ((await dispatcher.tick()).claimed > 0);
  },
  check: expectHandedOffOnce,
  async close({ database, backend, testDatabase }) {
    await backend.close(2000);
    await database.close();
    await testDatabase.drop();
  },
});

async function expectHandedOffOnce({ database, backend }: World, { crashed }: { crashed: boolean }): Promise<void> {
  expect(await statuses(database)).toEqual({ DONE: 4, FAILED: 1 });
  for (const event of EVENTS) await expectSettledOnce(database, event, crashed);
  const handedOff = EVENTS.filter(({ queue }) => queue !== null);
  expect(await takeJobs(backend)).toEqual(
    handedOff.map(({ id, type, queue, big }) => ({
      queue,
      id: `outbox-${id}`,
      type,
      payload: big === true ? undefined : { text: "Hello" },
    })),
  );
}

/** The final state of the row, and at most one claim more than without a crash. */
async function expectSettledOnce(database: Database, event: (typeof EVENTS)[number], crashed: boolean): Promise<void> {
  const { rows } = await database.pool.query(
    `SELECT "status"::text AS "status", "attempts", "retries", "crashes", "lockToken", "lastErrorCode" FROM "OutboxEvent" WHERE "id" = $1`,
    [event.id],
  );
  const claims = event.lost === true ? 2 : 1;
  const unroutable = event.queue === null;
  expect(rows).toEqual([
    {
      status: unroutable ? "FAILED" : "DONE",
      attempts: expect.toSatisfy((attempts: number) => attempts >= claims && attempts <= claims + (crashed ? 1 : 0)),
      retries: unroutable ? 1 : 0,
      // Only a lease that was lost while its event was claimed alone counts.
      crashes: expect.toSatisfy((crashes: number) => crashes <= (crashed && event.lost === true ? 1 : 0)),
      lockToken: null,
      lastErrorCode: unroutable ? "ROUTER.UNROUTABLE" : null,
    },
  ]);
}

/** Runs every job there is, and says what each brought, in the order of the events. */
async function takeJobs(backend: QueueBackend): Promise<Array<{ queue: QueueName; id: string; type: string; payload: unknown }>> {
  const taken: Array<{ queue: QueueName; id: string; type: string; payload: unknown }> = [];
  const workers = QUEUES.map((queue) =>
    backend.work(
      queue,
      async ({ id, name, data }) => {
        taken.push({ queue, id, type: name, payload: jobEnvelopeSchema.parse(data).payload });
        return { kind: "done" };
      },
      { concurrency: 1 },
    ),
  );
  await waitFor(async () => {
    const counts = await Promise.all(QUEUES.map((queue) => backend.counts(queue)));
    return counts.every(({ waiting, active, delayed }) => waiting + active + delayed === 0);
  });
  await Promise.all(workers.map((worker) => worker.close(2000)));
  return taken.sort((a, b) => (a.id < b.id ? -1 : 1));
}

describe("a dispatcher ended after any call of a tick: every event is handed off once and settled, with one claim more at most,", () => {
  test.for(["redis", "postgres"] as const)("on %s (12 calls at least)", { timeout: 300_000 }, async (kind, { annotate }) => {
    const portOf = (name: string): number => Number(new URL(process.env[name] ?? "").port);
    const ports = { [portOf("TESTKIT_POSTGRES_URL")]: "sql", [portOf("TESTKIT_REDIS_URL")]: "redis" };
    const points = await crashLanes({
      start: (options) => spawnNode(new URL("./one-tick.ts", import.meta.url), options),
      story: () => storyOf(suiteOn(kind)),
      ports,
      ignore: BULLMQ_BACKGROUND,
      // On Postgres the queue's connections are the database's.
      lanes: kind === "postgres" ? 6 : 24,
    });
    await annotate(`${points.length} crash points`);
    expect(points.length, `${points.length} crash points`).toBeGreaterThanOrEqual(12);
  });
});
