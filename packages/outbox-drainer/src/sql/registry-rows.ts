import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

export interface ProcessRow {
  readonly id: string;
  readonly app: string;
  readonly host: string;
  readonly pid: number;
  readonly vote: string;
  readonly drains: boolean;
  readonly queueBackend: string;
  readonly queuePrefix: string;
  readonly queues: readonly string[];
  /** Null on a register from before it has this column; whoever was entered there says it after its next start. */
  readonly consumers: readonly string[] | null;
  readonly aliveMs: number;
}

const foreignSchema = z.object({ app: z.string(), host: z.string(), pid: z.number(), queueBackend: z.string(), queuePrefix: z.string() });

/**
 * Live processes on another queue than this one. Takes a transaction lock, so that of two processes that register at once and clash
 * one sees the other.
 */
export async function findForeignQueues(
  tx: Queryable,
  queueBackend: string,
  queuePrefix: string,
): Promise<z.infer<typeof foreignSchema>[]> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('toolctrl:register', 0))`);
  const { rows } = await tx.query<Record<string, unknown>>(
    `SELECT "app", "host", "pid", "queueBackend", "queuePrefix" FROM "OutboxDrainer"
     WHERE "aliveUntil" > (SELECT clock_timestamp()) AND ("queueBackend", "queuePrefix") <> ($1, $2) ORDER BY "startedAt" LIMIT 1`,
    [queueBackend, queuePrefix],
  );
  return z.array(foreignSchema).parse(rows);
}

const upsert = (column: string, value: string): string => `
INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "vote", "drains", "queueBackend", "queuePrefix", "queues", "aliveUntil"${column})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + $10::float8 * interval '1 millisecond'${value})
ON CONFLICT ("id") DO UPDATE SET "aliveUntil" = EXCLUDED."aliveUntil"`;

const upsertOf = ({ consumers }: ProcessRow): string => (consumers === null ? upsert("", "") : upsert(`, "consumers"`, ", $11"));

const valuesOf = (row: ProcessRow): unknown[] => [
  row.id,
  row.app,
  row.host,
  row.pid,
  row.vote,
  row.drains,
  row.queueBackend,
  row.queuePrefix,
  row.queues,
  row.aliveMs,
  ...(row.consumers === null ? [] : [row.consumers]),
];

/** Enters a process, and forgets those that ran out a day ago. */
export async function insertProcess(tx: Queryable, row: ProcessRow): Promise<void> {
  await tx.query(`DELETE FROM "OutboxDrainer" WHERE "aliveUntil" < clock_timestamp() - interval '1 day'`);
  await tx.query(upsertOf(row), valuesOf(row));
}

/** Extends the entry; makes it again when it was deleted. */
export async function renewProcess(db: Queryable, row: ProcessRow): Promise<void> {
  await db.query(upsertOf(row), valuesOf(row));
}

/**
 * Whether the live register has a column that came later. A database from before `blockers` cannot be told what blocks, and needs not: it
 * has no record keys either, without which nothing runs pull workers. One from before `consumers` still knows the queues.
 */
export async function hasRegistryColumn(db: Queryable, column: "blockers" | "consumers"): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('"OutboxDrainer"') AND attname = $1 AND NOT attisdropped`,
    [column],
  );
  return rowCount === 1;
}

/** Enters what keeps a process from running pull workers; writes only what has changed. */
export async function reportBlockers(db: Queryable, id: string, blockers: readonly string[] | null): Promise<void> {
  await db.query(`UPDATE "OutboxDrainer" SET "blockers" = $2::text[] WHERE "id" = $1 AND "blockers" IS DISTINCT FROM $2::text[]`, [
    id,
    blockers,
  ]);
}

export async function deleteProcess(db: Queryable, id: string): Promise<void> {
  await db.query(`DELETE FROM "OutboxDrainer" WHERE "id" = $1`, [id]);
}
