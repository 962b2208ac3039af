import { randomUUID } from "node:crypto";
import { createPool, type BoundedPool } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { CONSUMERS } from "@toolctrl/foundation/consumers";
import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createLogger } from "@toolctrl/runtime/logger";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { createEmptyDatabase, createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";
import type { CheckResult } from "../src/check.ts";
import { createChecks, runChecks, type DoctorDeps } from "../src/doctor.ts";

const PREFIX = "{doctor}";

let ledger: Promise<string> | undefined;

/** What migrating writes down of itself, as JSON: copies of the suite's template lack it. */
async function readLedger(): Promise<string> {
  const { url, drop } = await createEmptyDatabase();
  await migrate({ url });
  const pool = createPool({ url, max: 1, app: "test" });
  const { rows } = await pool.query<{ rows: string }>(`SELECT jsonb_agg(m)::text AS "rows" FROM "_prisma_migrations" m`);
  await pool.endWithin(1000);
  await drop();
  return rows[0]?.rows ?? "[]";
}

/** A migrated database whose sessions are in UTC, with a live process that runs everything. */
export async function openDatabase(): Promise<{ readonly url: string; readonly pool: BoundedPool }> {
  const { url, name } = await createTestDatabase();
  const pool = openPool(url);
  await pool.query(
    `CREATE TABLE "_prisma_migrations" AS SELECT * FROM jsonb_to_recordset('${await (ledger ??= readLedger())}'::jsonb)
       AS m("migration_name" text, "checksum" text, "finished_at" timestamptz, "rolled_back_at" timestamptz)`,
  );
  await pool.query(`ALTER DATABASE "${name}" SET timezone = 'UTC'`);
  await pool.query(
    `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "drains", "queueBackend", "queuePrefix", "queues", "consumers", "blockers", "aliveUntil")
     VALUES ($1, 'worker', 'here', 1, true, 'redis', $2, $3, $4, '{}', clock_timestamp() + interval '1 hour')`,
    [randomUUID(), PREFIX, QUEUE_NAMES, Object.keys(CONSUMERS)],
  );
  return { url, pool };
}

export function openPool(url: string): BoundedPool {
  const pool = createPool({ url, max: 4, app: "test" });
  onTestFinished(() => pool.endWithin(1000));
  return pool;
}

export async function startedRedis(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  onTestFinished(() => server.close());
  return server;
}

/** The queue on Redis, or on PostgreSQL, by the protocol of its URL. */
export async function backendOn(url: string): Promise<QueueBackend> {
  const log = createLogger({ app: "test", level: "silent" });
  const where = url.startsWith("redis:") ? ({ kind: "redis", redisUrl: url } as const) : ({ kind: "postgres", databaseUrl: url } as const);
  const backend = await createQueueBackend({ ...where, prefix: PREFIX, attempts: 1, backoffMs: 1, log });
  onTestFinished(() => backend.close(1000));
  return backend;
}

const SETTINGS = {
  horizon: {
    resultTtlSeconds: 86_400,
    dispatcher: { maxRetries: 6, backoffMinutes: [1, 2, 4, 8, 16, 32], leaseMs: 300_000 },
    queue: { attempts: 8, backoffMs: 5000 },
    marginSeconds: 600,
  },
  retentionHours: 720,
  maxTransactionMs: 300_000,
  directUrl: undefined,
};

/** Everything that a doctor says. */
export function examine(deps: Pick<DoctorDeps, "pool" | "url" | "backend"> & Partial<DoctorDeps>): Promise<readonly CheckResult[]> {
  return runChecks(createChecks({ ...SETTINGS, ...deps }));
}

/** What is not ok, `name state`, with what was said. Each of it comes with what to do. */
export function complaintsOf(results: readonly CheckResult[]): Record<string, string> {
  const bad = results.filter(({ state }) => state !== "ok");
  for (const { name, fix } of bad) if (fix === null || fix === "") throw new Error(`expected ${name} to say what to do, got nothing`);
  return Object.fromEntries(bad.map(({ name, state, said }) => [`${name} ${state}`, said]));
}
