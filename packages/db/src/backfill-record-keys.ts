import { CodedError } from "@toolctrl/foundation/errors";
import type { QueryResultRow } from "pg";
import { uuidv7 } from "uuidv7";
import { VALIDATED_LATER } from "./mending-sql.ts";
import { recordKeyReady } from "./record-key-ready.ts";
import type { Queryable } from "./sql.ts";
import { findSchemaProblems, schemaDiffers } from "./verify-schema.ts";

export interface BackfillOptions {
  /** For the audit row. */
  readonly actor: string;
  readonly reason?: string | null | undefined;
  /** Rows that one statement reads, and at most writes. Default 1000. */
  readonly batchSize?: number | undefined;
  /** Ends it after the running batch. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each batch with the rows that got their key so far. */
  readonly onBatch?: ((keyed: number) => void) | undefined;
}

export interface BackfillReport {
  /** False on a table without the column: nothing was done then. */
  readonly column: boolean;
  /** Rows that got their key. */
  readonly keyed: number;
  /** Whether the constraint is validated: every row has a key, and every new one gets one. */
  readonly validated: boolean;
  /** Whether the signal ended it before its time. */
  readonly interrupted: boolean;
  /** The audit row; null when there was nothing to do. */
  readonly actionId: string | null;
}

const NIL = "00000000-0000-0000-0000-000000000000";
const LOCK_TIMEOUT = "55P03";

/**
 * Gives every event without a record key the one that its payload gives, then validates the constraint.
 *
 * Each batch is one statement and one transaction, beside the traffic: no row is waited for, `updatedAt` stays, and what is done stays
 * done, so that a run that ended midway is followed by another, which reads over the finished part. Rows that were locked in passing
 * come last, one by one. Validating reads the table once and blocks neither reads nor writes.
 *
 * Locks taken: rows of a batch (FOR UPDATE SKIP LOCKED), for the length of the statement. Index: the primary key. A crash costs the
 * batch that ran.
 *
 * @throws CodedError `MIGRATE.VERIFY` without the constraint: what is written meanwhile would lack its key; `DB.ROW_LOCKED` when a row, or the table, stays locked for longer than the session's `lock_timeout`
 */
export async function backfillRecordKeys(db: Queryable, options: BackfillOptions): Promise<BackfillReport> {
  const { column, constraint, validated } = await recordKeyReady(db);
  if (!column || validated) return { column, keyed: 0, validated, interrupted: false, actionId: null };
  if (!constraint) throw schemaDiffers((await findSchemaProblems(db)).filter(({ name }) => VALIDATED_LATER.has(name)));
  const actionId = await openAction(db, options);
  const work: Work = { db, actionId, keyed: 0, options };
  const done = (await keyPages(work)) && (await keyLeftOvers(work));
  if (done) await waitingAtMost(() => db.query(`ALTER TABLE "OutboxEvent" VALIDATE CONSTRAINT "OutboxEvent_recordKey_check"`));
  return { column, keyed: work.keyed, validated: done, interrupted: !done, actionId };
}

interface Work {
  readonly db: Queryable;
  readonly actionId: string;
  readonly options: BackfillOptions;
  keyed: number;
}

interface Page extends QueryResultRow {
  /** Null behind the last row. */
  readonly last: string | null;
  readonly keyed: number;
}

const KEY_PAGE = `WITH page AS MATERIALIZED (
  SELECT "id", "recordKey" IS NULL AS "missing" FROM "OutboxEvent" WHERE "id" > $1::uuid ORDER BY "id" LIMIT $2
), free AS MATERIALIZED (
  SELECT e."id" FROM "OutboxEvent" e WHERE e."id" IN (SELECT "id" FROM page WHERE "missing") AND e."recordKey" IS NULL
  FOR UPDATE SKIP LOCKED
), keyed AS (
  UPDATE "OutboxEvent" e SET "recordKey" = "outboxRecordKey"(e."payload", e."id") FROM free WHERE e."id" = free."id" RETURNING 1
), audited AS (
  UPDATE "OutboxAction" SET "affected" = "affected" + (SELECT count(*)::int FROM keyed) WHERE "id" = $3::uuid
)
SELECT (SELECT "id"::text FROM page ORDER BY page."id" DESC LIMIT 1) AS "last", (SELECT count(*)::int FROM keyed) AS "keyed"`;

/** Walks the table once. @returns false when it was told to end */
async function keyPages(work: Work): Promise<boolean> {
  const { db, actionId, options } = work;
  for (let after: string | null = NIL; after !== null;) {
    if (options.signal?.aborted === true) return false;
    const page: Page | undefined = (await db.query<Page>(KEY_PAGE, [after, options.batchSize ?? 1_000, actionId])).rows[0];
    after = page?.last ?? null;
    note(work, page?.keyed ?? 0);
  }
  return true;
}

const LEFT_OVER = `SELECT "id"::text AS "id" FROM "OutboxEvent" WHERE "recordKey" IS NULL LIMIT 100`;

const KEY_ONE = `WITH keyed AS (
  UPDATE "OutboxEvent" SET "recordKey" = "outboxRecordKey"("payload", "id") WHERE "id" = $1::uuid AND "recordKey" IS NULL RETURNING 1
), audited AS (
  UPDATE "OutboxAction" SET "affected" = "affected" + (SELECT count(*)::int FROM keyed) WHERE "id" = $2::uuid
)
SELECT count(*)::int AS "keyed" FROM keyed`;

/** The rows that somebody held while the walk passed; each is waited for. @returns false when it was told to end */
async function keyLeftOvers(work: Work): Promise<boolean> {
  const { db, actionId, options } = work;
  for (;;) {
    const { rows } = await db.query<{ id: string }>(LEFT_OVER);
    if (rows.length === 0) return true;
    for (const { id } of rows) {
      if (options.signal?.aborted === true) return false;
      const result = await waitingAtMost(() => db.query<{ keyed: number }>(KEY_ONE, [id, actionId]), id);
      note(work, result.rows[0]?.keyed ?? 0);
    }
  }
}

function note(work: Work, keyed: number): void {
  if (keyed === 0) return;
  work.keyed += keyed;
  work.options.onBatch?.(work.keyed);
}

async function openAction(db: Queryable, { actor, reason, batchSize }: BackfillOptions): Promise<string> {
  const id = uuidv7();
  await db.query(
    `INSERT INTO "OutboxAction" ("id", "actor", "action", "reason", "params") VALUES ($1, $2, 'backfill-record-key', $3, $4::jsonb)`,
    [id, actor, reason ?? null, JSON.stringify({ batchSize: batchSize ?? 1_000 })],
  );
  return id;
}

async function waitingAtMost<T>(run: () => Promise<T>, eventId?: string): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Error) || (error as { readonly code?: unknown }).code !== LOCK_TIMEOUT) throw error;
    const what = eventId === undefined ? "the table" : `event ${eventId}`;
    throw new CodedError("DB.ROW_LOCKED", `expected ${what} to come free within the lock time-out, got another transaction's lock`, {
      facts: { eventId },
      cause: error,
    });
  }
}
