import { randomUUID } from "node:crypto";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { createRouter, type RouteRule } from "@toolctrl/event-router/router";
import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts, type Alerts } from "@toolctrl/runtime/alerts";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";
import { createBatchDispatcher, type BatchDispatcher } from "../src/batch-dispatcher.ts";
import type { DispatcherSettings } from "../src/settings.ts";

export const SETTINGS: DispatcherSettings = {
  intervalMs: 1000,
  batchSize: 100,
  maxRetries: 6,
  leaseMs: 60_000,
  crashBudget: 6,
};

export const silentLog: Logger = createLogger({ app: "test", level: "silent" });

/** A database of its own for one test, or another client of one. */
export async function openDatabase(given?: string): Promise<Database> {
  const url = given ?? (await createTestDatabase()).url;
  const database = await createDatabase({ url, poolMax: 20, app: "test" });
  onTestFinished(() => database.close());
  return database;
}

/** A queue on the run's Redis, under a prefix of its own. */
export async function openBackend(options: { redisUrl?: string; addTimeoutMs?: number } = {}): Promise<QueueBackend> {
  const { url, prefix } = createRedisNamespace();
  const backend = await createQueueBackend({
    kind: "redis",
    redisUrl: options.redisUrl ?? url,
    prefix,
    attempts: 3,
    backoffMs: 10,
    log: silentLog,
    ...(options.addTimeoutMs === undefined ? {} : { addTimeoutMs: options.addTimeoutMs }),
  });
  onTestFinished(() => backend.close(2000));
  return backend;
}

export function dispatcherOf(
  database: Database,
  backend: Pick<QueueBackend, "addAll" | "ping">,
  overrides: { settings?: Partial<DispatcherSettings>; routes?: RouteRule[]; log?: Logger; metrics?: Metrics; alerts?: Alerts } = {},
): BatchDispatcher {
  const log = overrides.log ?? silentLog;
  return createBatchDispatcher({
    pool: database.pool,
    router: createRouter(overrides.routes),
    backend,
    settings: { ...SETTINGS, ...overrides.settings },
    metrics: overrides.metrics ?? createMetrics({ processMetrics: false }),
    alerts: overrides.alerts ?? createAlerts({ app: "test", log }),
    log,
  });
}

/** Inserts events that are due, in order; returns their ids. */
export async function insertEvents(
  database: Database,
  count: number,
  event: { tenantId?: string; type?: string; payload?: unknown; delay?: string } = {},
): Promise<string[]> {
  const ids = Array.from({ length: count }, () => randomUUID());
  await database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "scheduledAt")
     SELECT id, $2, $3, $4::jsonb, clock_timestamp() + $5::interval FROM unnest($1::uuid[]) WITH ORDINALITY AS t(id, n) ORDER BY n`,
    [
      ids,
      event.tenantId ?? "acme",
      event.type ?? "mail.message.send",
      JSON.stringify(event.payload ?? { n: 1 }),
      event.delay ?? "-1 second",
    ],
  );
  return ids;
}

export interface EventRow {
  id: string;
  status: string;
  attempts: number;
  retries: number;
  crashes: number;
  lastErrorCode: string | null;
  lastError: string | null;
  lockToken: string | null;
  /** Seconds from now until it is due, by the database's clock. */
  dueIn: number;
}

export async function readEvents(database: Database, ids?: readonly string[]): Promise<EventRow[]> {
  const { rows } = await database.pool.query<EventRow>(
    `SELECT "id", "status"::text AS "status", "attempts", "retries", "crashes", "lastErrorCode", "lastError", "lockToken",
       extract(epoch FROM "scheduledAt" - clock_timestamp())::float8 AS "dueIn"
     FROM "OutboxEvent" WHERE $1::uuid[] IS NULL OR "id" = ANY($1) ORDER BY "position"`,
    [ids ?? null],
  );
  return rows;
}

/** Makes every backoff and lease of the database run out, without waiting for it. */
export async function letTimePass(database: Database): Promise<void> {
  await database.pool.query(`UPDATE "OutboxEvent" SET "scheduledAt" = clock_timestamp() - interval '1 second' WHERE "status" = 'PENDING'`);
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "status" = 'PROCESSING'`,
  );
}

/** How many events have each status. */
export async function statuses(database: Database): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ status: string; n: number }>(
    `SELECT "status"::text AS "status", count(*)::int AS n FROM "OutboxEvent" GROUP BY 1`,
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}
