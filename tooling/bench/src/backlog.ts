import type { Queryable } from "@toolctrl/db/sql";

/** Events of one shape, made by one INSERT … SELECT; due since `age`, so that older ones come first. */
export interface Backlog {
  readonly events: number;
  /** Tenants that share them in turn. */
  readonly tenants: number;
  /** Records that share them in turn; by default each event has a record of its own. */
  readonly records?: number;
  /** What their record keys begin with; keys are walked in their order. */
  readonly object: string;
  /** A PostgreSQL interval. */
  readonly age: string;
}

export async function insertBacklog(db: Queryable, backlog: Backlog): Promise<void> {
  const { events, tenants, records = events, object, age } = backlog;
  await db.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "recordKey", "scheduledAt")
     SELECT gen_random_uuid(), 'tenant-' || (n % $3::int) % $2::int, 'record.order.updated',
       jsonb_build_object('object', $4::text, 'recordId', (n % $3::int)::text), $4::text || '/' || n % $3::int,
       clock_timestamp() - $5::interval FROM generate_series(1, $1::int) AS n`,
    [events, tenants, records, object, age],
  );
}

/** Puts the head of every record of this kind in flight, as workers do that hold them for long. */
export async function holdHeads(db: Queryable, object: string): Promise<void> {
  await db.query(
    `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'pull', "lockToken" = gen_random_uuid(), "attempts" = 1,
       "lockedUntil" = clock_timestamp() + interval '1 hour'
     WHERE "position" IN (
       SELECT min("position") FROM "OutboxEvent" WHERE "payload" ->> 'object' = $1 GROUP BY "tenantId", "recordKey")`,
    [object],
  );
}

/** Statistics as autovacuum leaves them, and no write of the fill left for the measured time. */
export async function settleTables(db: Queryable): Promise<void> {
  await db.query(`VACUUM (ANALYZE) "OutboxEvent"`);
  await db.query("CHECKPOINT");
}

/** Lets pull workers claim, or the dispatcher. */
export async function setMode(db: Queryable, mode: "batch" | "pull"): Promise<void> {
  await db.query(`UPDATE "OutboxMode" SET "mode" = $1, "desired" = $1, "epoch" = "epoch" + 1`, [mode]);
}
