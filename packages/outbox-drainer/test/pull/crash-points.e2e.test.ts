import { createDatabase, type Database } from "@toolctrl/db/client";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import { storyOf, type LaneSuite } from "@toolctrl/testkit/lane-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase, type TestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createEffects } from "@toolctrl/db/after-save-effect";
import { createRouter } from "@toolctrl/event-router/router";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createPullWorkers } from "../../src/pull-workers.ts";
import { letTimePass, silentLog } from "../support.ts";
import { CRASH_EFFECTS } from "./crash-effects.ts";
import { insertRecordEvents, preparePull, PULL_SETTINGS } from "./support.ts";

interface World {
  readonly test: TestDatabase;
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly env: Record<string, string>;
}

test("a pull worker that dies after any of its calls: every effect and every hand-off is there once, a record's in order", async () => {
  const portOf = (name: string): number => Number(new URL(process.env[name] ?? "").port);
  const points = await crashLanes({
    start: (options) => spawnNode(new URL("./crash-process.ts", import.meta.url), options),
    story: () => storyOf(PULL_WORKER),
    ports: { [portOf("TESTKIT_POSTGRES_URL")]: "sql", [portOf("TESTKIT_REDIS_URL")]: "redis" },
    ignore: [/^redis: (info|client|ping)/i],
  });
  const calls = points.map(({ call }) => call);
  for (const part of ["BEGIN", "SAVEPOINT", "ROLLBACK TO", "COMMIT", 'INSERT INTO "Mark"', 'INTO "OutboxReceipt"', "redis:"]) {
    expect(
      calls.some((call) => call.includes(part)),
      `a crash after ${part}`,
    ).toBe(true);
  }
}, 300_000);

const PULL_WORKER: LaneSuite<World> = {
  open: openWorld,
  env: ({ env }) => env,
  async settle({ database }) {
    const sessions = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'crash%'`;
    await waitFor(async () => (await database.pool.query(sessions)).rowCount === 0, { what: "the sessions of the pull worker to end" });
  },
  recover,
  check,
  async close({ backend, database, test: { drop } }) {
    await backend.close(1_000);
    await database.close();
    await drop();
  },
};

async function openWorld(): Promise<World> {
  const database = await createTestDatabase();
  const { url, prefix } = createRedisNamespace();
  const client = await createDatabase({ url: database.url, poolMax: 4, app: "test", wakeup: false });
  const backend = await createQueueBackend({ kind: "redis", redisUrl: url, prefix, attempts: 3, backoffMs: 10, log: silentLog });
  await preparePull(client);
  await insertRecordEvents(client, 2);
  await insertRecordEvents(client, 1, { record: "deal", type: "record.deal.updated" });
  return {
    test: database,
    database: client,
    backend,
    env: { DATABASE_URL: database.url, REDIS_URL: url, PREFIX: prefix },
  };
}

async function recover({ database, backend }: World): Promise<void> {
  await letTimePass(database);
  const workers = createPullWorkers({
    database,
    router: createRouter(),
    effects: createEffects(CRASH_EFFECTS),
    backend,
    settings: { ...PULL_SETTINGS, maxRetries: 1 },
    metrics: createMetrics({ processMetrics: false }),
    alerts: createAlerts({ app: "test", log: silentLog }),
    log: silentLog,
  });
  do {
    while ((await workers.runOnce()) !== null);
    await letTimePass(database);
  } while ((await workers.runOnce()) !== null);
  await workers.close(1_000);
}

async function check({ database, backend }: World): Promise<void> {
  const { rows: events } = await database.pool.query(
    `SELECT "eventType", "status"::text AS "status", "crashes" <= 1 AS "once", "lockToken" FROM "OutboxEvent" ORDER BY "eventType"`,
  );
  const done = (eventType: string) => ({ eventType, status: "DONE", once: true, lockToken: null });
  expect(events).toEqual([
    done("billing.lead.noticed"),
    done("billing.lead.noticed"),
    { eventType: "record.deal.updated", status: "FAILED", once: true, lockToken: null },
    done("record.lead.updated"),
    done("record.lead.updated"),
  ]);
  const { rows: effects } = await database.pool.query(`SELECT "text" FROM "Mark" ORDER BY "n"`);
  expect(effects).toEqual([{ text: "1" }, { text: "2" }]);
  expect(await backend.counts("outbox.notification")).toMatchObject({ waiting: 2 });
  const { rows: receipts } = await database.pool.query(`SELECT "consumer" FROM "OutboxReceipt" ORDER BY "consumer"`);
  expect(receipts.map(({ consumer }) => consumer as string)).toEqual(["mark", "mark", "notice", "notice"]);
}
