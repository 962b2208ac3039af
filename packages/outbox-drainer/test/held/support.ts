import type { Database } from "@toolctrl/db/client";
import { createRouter } from "@toolctrl/event-router/router";
import { createHoldOf, type HeldBy, type Hold } from "../../src/held/hold.ts";
import { createHeldRelease, type HeldRelease } from "../../src/held.ts";
import { silentLog } from "../support.ts";

export const HOLD: Hold = { consumer: "workflow-trigger", reason: "nothing runs workflows yet", since: "2026-12-02" };
export const HELD_TYPE = "workflow.trigger.event";

/** Holds the routes of these prefixes. */
export const holding =
  (...prefixes: string[]): HeldBy =>
  ({ prefix }) =>
    prefixes.includes(prefix) ? HOLD : null;

export interface HeldRow {
  readonly status: string;
  readonly held: boolean;
  readonly due: boolean;
  readonly attempts: number;
  readonly retries: number;
  readonly crashes: number;
  readonly lastErrorCode: string | null;
  readonly lastError: string | null;
}

/** Events in the order of the ids. */
export async function rowsOf(database: Database, ids: readonly string[]): Promise<HeldRow[]> {
  const { rows } = await database.pool.query<HeldRow>(
    `SELECT e."status"::text, e."lastErrorCode" IS NOT DISTINCT FROM 'ROUTER.HELD' AS "held", e."scheduledAt" <= clock_timestamp() AS "due", e."attempts", e."retries",
            e."crashes", e."lastErrorCode", e."lastError"
       FROM unnest($1::uuid[]) WITH ORDINALITY AS t("id", "n") JOIN "OutboxEvent" e USING ("id") ORDER BY "n"`,
    [ids],
  );
  return rows;
}

export interface Totals {
  readonly held: number;
  readonly open: number;
  readonly done: number;
  /** Claims that were ever made. */
  readonly claims: number;
}

export async function totals(database: Database): Promise<Totals> {
  const { rows } = await database.pool.query<Totals>(
    `SELECT count(*) FILTER (WHERE "status" = 'PENDING' AND "lastErrorCode" = 'ROUTER.HELD' AND "scheduledAt" > clock_timestamp())::int AS "held",
            count(*) FILTER (WHERE "status" <> 'DONE' AND "lastErrorCode" IS DISTINCT FROM 'ROUTER.HELD')::int AS "open",
            count(*) FILTER (WHERE "status" = 'DONE')::int AS "done", sum("attempts")::int AS "claims" FROM "OutboxEvent"`,
  );
  return rows[0] ?? { held: 0, open: 0, done: 0, claims: 0 };
}

export async function setMode(database: Database, mode: "batch" | "pull", desired = mode): Promise<void> {
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = $1, "desired" = $2, "epoch" = "epoch" + 1`, [mode, desired]);
}

export function releaseOf(database: Database, heldBy: HeldBy): { release: HeldRelease; wakes: () => number } {
  let wakes = 0;
  const release = createHeldRelease({
    db: database.pool,
    holdOf: createHoldOf(createRouter(), heldBy),
    wake: () => void (wakes += 1),
    log: silentLog,
  });
  return { release, wakes: () => wakes };
}

/** Many due events at once, each of a record of its own named by `record` and its number. */
export async function insertMany(
  database: Database,
  count: number,
  event: { type: string; tenantId?: string; record: string; from?: number },
): Promise<void> {
  await database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "scheduledAt")
     SELECT gen_random_uuid(), $2, $3, jsonb_build_object('object', 'Lead', 'recordId', $4::text || n), clock_timestamp()
       FROM generate_series($5::int, $5::int + $1::int - 1) n ORDER BY n`,
    [count, event.tenantId ?? "acme", event.type, event.record, event.from ?? 1],
  );
}

/** Counts the statements of a pool whose text holds a piece. */
export function countStatements(database: Database, piece: string): () => number {
  const { pool } = database;
  const query = pool.query as (this: unknown, ...args: unknown[]) => unknown;
  let count = 0;
  pool.query = function (this: unknown, ...args: unknown[]) {
    if (typeof args[0] === "string" && args[0].includes(piece)) count += 1;
    return query.apply(this, args);
  } as typeof pool.query;
  return () => count;
}
