import type { ReceiptAuthority } from "@toolctrl/outbox-receiver/store";
import { groupCalls } from "./group-calls.ts";
import {
  findReceipt,
  receiptRowOf,
  recordReceipt,
  type FoundReceipt,
  type ReceiptQuery,
  type ReceiptRow,
  type ReceiptScope,
} from "./receipt-authority.ts";
import type { Queryable } from "./sql.ts";

const LIMITS = { maxRequests: 100, maxBytes: 1024 * 1024 };
const QUERY_BYTES = 100;

// Each look-up is the one of a single receipt; the primary key serves it.
const FIND_MANY = `SELECT q."place"::int AS "place", found."result", found."result" IS NULL AS "isAbsent"
FROM unnest($1::uuid[], $2::text[], $3::int[], $4::boolean[]) WITH ORDINALITY AS q("eventId", "consumer", "effectEpoch", "anyEpoch", "place")
CROSS JOIN LATERAL (
  SELECT r."result" FROM "OutboxReceipt" r
  WHERE r."eventId" = q."eventId" AND r."consumer" = q."consumer" AND r."outcome" = 'done' AND (q."anyEpoch" OR r."effectEpoch" = q."effectEpoch")
  ORDER BY r."effectEpoch" DESC LIMIT 1
) found`;

// The lock limit is set in the statement itself, so it costs no round trip, ends with it, and is in force before the first row is
// locked. Rows are locked in the order of their key, so that two groups cannot wait for each other.
const RECORD_MANY = `WITH bound AS MATERIALIZED (SELECT set_config('lock_timeout', '100ms', true))
INSERT INTO "OutboxReceipt" ("eventId", "consumer", "effectEpoch", "tenantId", "outcome", "result", "detail")
SELECT r."eventId", r."consumer", r."effectEpoch", r."tenantId", 'done', r."result"::jsonb, r."detail"
FROM bound CROSS JOIN unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::text[], $6::text[])
  AS r("eventId", "consumer", "effectEpoch", "tenantId", "result", "detail")
ORDER BY r."eventId", r."consumer", r."effectEpoch"
ON CONFLICT ("eventId", "consumer", "effectEpoch") DO UPDATE
SET "outcome" = 'done', "result" = EXCLUDED."result", "detail" = EXCLUDED."detail", "updatedAt" = clock_timestamp()
WHERE "OutboxReceipt"."outcome" = 'dead'`;

/**
 * Receipts of a whole process: deliveries that end at the same time share one statement and one commit. Each of them still waits for
 * the commit of its own receipt, and one that cannot be written, or waits for a lock, holds up no other.
 *
 * `pool` is no transaction: a call may run with others, on any connection.
 */
export function createGroupedReceipts(pool: Queryable): (scope: ReceiptScope) => ReceiptAuthority {
  const find = groupCalls<ReceiptQuery, FoundReceipt | null>({
    ...LIMITS,
    // Look-ups wait for no lock: one group at a time makes the groups large.
    maxGroups: 1,
    askMany: (queries) => findMany(pool, queries),
    askOne: (query) => findReceipt(pool, query),
    isAboutOne: isAboutStatement,
    bytesOf: () => QUERY_BYTES,
  });
  const record = groupCalls<ReceiptRow, void>({
    ...LIMITS,
    // A second one while the first waits for its commit.
    maxGroups: 2,
    askMany: (rows) => recordMany(pool, rows),
    askOne: (row) => recordReceipt(pool, row),
    isAboutOne: isAboutStatement,
    bytesOf: (row) => QUERY_BYTES + (row.result?.length ?? 0),
  });
  return (scope) => ({
    find: (eventId) => find({ ...scope, eventId }),
    record: async (eventId, result) => record(receiptRowOf(scope, eventId, result)),
  });
}

async function findMany(pool: Queryable, queries: readonly ReceiptQuery[]): Promise<Array<FoundReceipt | null>> {
  const { rows } = await pool.query<{ place: number; result: unknown; isAbsent: boolean }>(FIND_MANY, [
    queries.map((query) => query.eventId),
    queries.map((query) => query.consumer),
    queries.map((query) => query.effectEpoch),
    queries.map((query) => query.anyEpoch ?? false),
  ]);
  const found: Array<FoundReceipt | null> = queries.map(() => null);
  for (const { place, result, isAbsent } of rows) found[place - 1] = { result: isAbsent ? undefined : result };
  return found;
}

async function recordMany(pool: Queryable, given: readonly ReceiptRow[]): Promise<void[]> {
  // One statement cannot meet a key twice; the first of a key counts, as it would one after the other.
  const byKey = new Map<string, ReceiptRow>();
  for (const row of given) {
    const key = JSON.stringify([row.eventId.toLowerCase(), row.consumer, row.effectEpoch]);
    if (!byKey.has(key)) byKey.set(key, row);
  }
  const rows = [...byKey.values()];
  await pool.query(RECORD_MANY, [
    rows.map((row) => row.eventId),
    rows.map((row) => row.consumer),
    rows.map((row) => row.effectEpoch),
    rows.map((row) => row.tenantId),
    rows.map((row) => row.result),
    rows.map((row) => row.detail),
  ]);
  return given.map(() => undefined);
}

/** An SQLSTATE that is not about the server as a whole: 08 connection, 53 resources, 57 operator (shutdown), 25 read-only. */
function isAboutStatement(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^(08|25|53|57)/.test(code);
}
