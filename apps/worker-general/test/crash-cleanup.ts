import { isServing } from "@toolctrl/consumer-testkit/app-process";
import { openInstallation, type Installation } from "@toolctrl/consumer-testkit/installation";
import { letLocksRunOut, untilForgotten } from "@toolctrl/consumer-testkit/locks";
import { BULLMQ_BACKGROUND } from "@toolctrl/testkit/crash-run";
import { crashLanes } from "@toolctrl/testkit/crash-lanes";
import type { CrashPoint } from "@toolctrl/testkit/crash-suite";
import { storyOf, type LaneSuite } from "@toolctrl/testkit/lane-suite";
import { spawnNode } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect } from "vitest";
import { readEnv } from "../src/env.ts";
import { startMaintenance } from "../src/start-maintenance.ts";
import { MAINTENANCE } from "./app.ts";

const QUEUE = "toolctrl.maintenance";
const JOB = "cleanup-by-test";

/** Ends the maintenance after each call of one turn of outbox-done-retention. */
export function crashCleanup(): Promise<CrashPoint[]> {
  const portOf = (name: string): number => Number(new URL(process.env[name] ?? "").port);
  return crashLanes({
    start: (options) => spawnNode(MAINTENANCE.main, options),
    story: () => storyOf(CLEANUP),
    ports: { [portOf("TESTKIT_POSTGRES_URL")]: "sql", [portOf("TESTKIT_REDIS_URL")]: "redis" },
    ignore: BULLMQ_BACKGROUND,
  });
}

const CLEANUP: LaneSuite<Installation> = {
  async open() {
    const installation = await openInstallation("redis");
    await seedHistory(installation);
    return installation;
  },
  env: ({ appEnv }) => ({ ...appEnv, ...MAINTENANCE.env }),
  isServing: async (installation) => (await isServing(installation, MAINTENANCE)) && (await isScheduledOnce(installation)),
  async handOver({ backend }) {
    await backend.addAll([{ queue: QUEUE, id: JOB, name: "cleanup.run", data: {} }]);
  },
  state: async (installation) => ((await isDone(installation)) ? "done" : "working"),
  settle: untilForgotten,
  recover,
  check: expectClean,
  close: (installation) => installation.close(),
};

async function isDone({ backend }: Installation): Promise<boolean> {
  return (await backend.find(QUEUE, JOB))?.state === "completed";
}

async function isScheduledOnce({ backend }: Installation): Promise<boolean> {
  const { delayed, waiting, active } = await backend.counts(QUEUE);
  // The cleanup and the look for lost jobs.
  return delayed === 2 && waiting + active === 0;
}

async function recover(installation: Installation): Promise<void> {
  await letLocksRunOut(installation);
  const running = startMaintenance(readEnv({ ...installation.appEnv, ...MAINTENANCE.env }), installation);
  try {
    await waitFor(() => isDone(installation), { what: "cleanup.run to finish", timeoutMs: 20_000 });
  } finally {
    await running.close(2000);
  }
}

/** Six months of history: of each kind of row some that have to go, and some that have to stay. */
async function seedHistory({ database }: Installation): Promise<void> {
  const { pool } = database;
  await pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "processedAt", "lastErrorCode", "dispatchKey")
     SELECT gen_random_uuid(), 'acme', 'audit.entry.record', '{}', s::"OutboxStatus", false,
       CASE WHEN s = 'DONE' THEN clock_timestamp() - age::interval END, CASE WHEN s = 'FAILED' THEN 'X' END, kind || n
     FROM (VALUES ('gone', 'DONE', '180 days', 3), ('young', 'DONE', '1 day', 1), ('held', 'DONE', '180 days', 2), ('failed', 'FAILED', '180 days', 1))
       AS k (kind, s, age, many) CROSS JOIN LATERAL generate_series(1, many) n`,
  );
  await pool.query(
    `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome")
     SELECT "id", 'audit-append', 'acme', 'done' FROM "OutboxEvent" WHERE "dispatchKey" ~ '^(gone|young)'`,
  );
  const old = `clock_timestamp() - interval '180 days'`;
  await pool.query(
    `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome", "updatedAt") SELECT gen_random_uuid(), 'x', 'acme', 'done', ${old} FROM generate_series(1, 3)`,
  );
  await pool.query(
    `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "externalId", "updatedAt") VALUES (gen_random_uuid(), gen_random_uuid(), 'acme', 'x', 'x', ${old})`,
  );
  await pool.query(
    `INSERT INTO "EmailMessage" ("id", "eventId", "tenantId", "messageId", "fromAddress", "subject", "createdAt") VALUES (gen_random_uuid(), gen_random_uuid(), 'acme', 'x', 'a@example.test', 's', ${old})`,
  );
  await pool.query(`INSERT INTO "IdempotencyKey" SELECT 'old' || n, 'v', ${old} FROM generate_series(1, 3) n`);
  await pool.query(`INSERT INTO "IdempotencyKey" VALUES ('live', 'v', clock_timestamp() + interval '1 day')`);
}

async function expectClean(installation: Installation): Promise<void> {
  const { rows } = await installation.database.pool.query<{ left: Record<string, unknown> }>(
    `SELECT json_build_object(
       'events', (SELECT array_agg("dispatchKey" ORDER BY "dispatchKey") FROM "OutboxEvent"),
       'orphans', (SELECT count(*) FROM "OutboxReceipt" WHERE "consumer" = 'x') + (SELECT count(*) FROM "OutboxIntent") + (SELECT count(*) FROM "EmailMessage"),
       'keys', (SELECT array_agg("key") FROM "IdempotencyKey")) AS "left"`,
  );
  expect(rows[0]?.left).toEqual({ events: ["failed1", "held1", "held2", "young1"], orphans: 0, keys: ["live"] });
  expect(await installation.backend.find(QUEUE, JOB)).toMatchObject({ failures: 0 });
  expect(await isScheduledOnce(installation)).toBe(true);
}
