import type { AfterSaveEffect, EffectEvent } from "@toolctrl/db/after-save-effect";
import { createDatabase, type Database, type Prisma } from "@toolctrl/db/client";
import type { JsonValue } from "@toolctrl/foundation/json";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { onTestFinished } from "vitest";

export const TENANT = "tenant-a";

/** The sessions of this database that wait for a lock. */
export const WAITING = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;

/** A migrated database of its own and a client on it; both end with the test. */
export async function openDatabase(poolMax = 5): Promise<Database> {
  const { url, drop } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax, app: "domain-test", wakeup: false });
  onTestFinished(async () => {
    await database.close(1_000);
    await drop();
  });
  return database;
}

/** The rows of a query, as they are. */
export async function rowsOf(database: Database, sql: string, values: unknown[] = []): Promise<Array<Record<string, unknown>>> {
  return (await database.pool.query<Record<string, unknown>>(sql, values)).rows;
}

/** The published events in their order, as effects get them. */
export async function publishedEvents(database: Database): Promise<EffectEvent[]> {
  const { rows } = await database.pool.query<Omit<EffectEvent, "position" | "payload"> & { position: string; payload: JsonValue }>(
    `SELECT "id", "tenantId", "eventType" AS "type", "payload", "position"::text AS "position", "recordKey", "correlationId", "depth"
     FROM "OutboxEvent" e ORDER BY e."position"`,
  );
  return rows.map((row) => ({ ...row, position: BigInt(row.position) }));
}

/** One delivery: the effects in a transaction of their own, as an attempt runs them. `then` comes before the commit. */
export function deliver(
  database: Database,
  effects: readonly AfterSaveEffect[],
  event: EffectEvent,
  then?: (tx: Prisma.TransactionClient) => Promise<void>,
): Promise<void> {
  return database.prisma.$transaction(
    async (tx) => {
      for (const effect of effects) await effect.run(tx, event);
      await then?.(tx);
    },
    { maxWait: 60_000, timeout: 60_000 },
  );
}

/** What a promise rejects with; fails when it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Error & { code?: string; facts?: Record<string, unknown> }> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && outcome.error instanceof Error) return outcome.error;
  throw new Error(`expected a rejection, got ${JSON.stringify(outcome)}`);
}

/** A promise and the function that resolves it. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
