/** How an INSERT treats the record key: `legacy` is for a table without the column, `locked` takes the lock of the record's line first. */
export type InsertKind = "legacy" | "unlocked" | "locked";

/** The number of a line's advisory lock. The seed keeps it apart from the other advisory locks of the database. */
const lineNumber = (name: string): string => `hashtextextended(${name}, 7270736)`;

const PLAIN = {
  columns: `"id", "tenantId", "eventType", "version", "payload", "dispatchKey"`,
  values: `$1::uuid, $2::text, $3::text, $4::int, $5::jsonb, $6::text`,
  recordKey: `$7::text`,
};

// GREATEST skips NULL, and lets no publisher's clock put an event before those already waiting.
const FULL = {
  columns: `${PLAIN.columns}, "scheduledAt", "correlationId", "causationId", "depth", "traceparent", "tracestate"`,
  values: `${PLAIN.values}, GREATEST(clock_timestamp(), $7::timestamptz), $8::text, $9::text, $10::int, $11::text, $12::text`,
  recordKey: `$13::text`,
};

/** The INSERTs of one event: with the columns that most events need, and with all. The record key is the last parameter. */
export const INSERT_ONE: Readonly<Record<"plain" | "full", Readonly<Record<InsertKind, string>>>> = {
  plain: insertOne(PLAIN),
  full: insertOne(FULL),
};

// No conflict target: whatever unique index is hit, now or after a later migration, the caller's transaction stays usable.
// The lock is the source of the row, so "position" is drawn when it is held, not before.
function insertOne({ columns, values, recordKey }: typeof PLAIN): Record<InsertKind, string> {
  return {
    legacy: `INSERT INTO "OutboxEvent" (${columns})
VALUES (${values})
ON CONFLICT DO NOTHING`,
    unlocked: `INSERT INTO "OutboxEvent" (${columns}, "recordKey")
VALUES (${values}, ${recordKey})
ON CONFLICT DO NOTHING`,
    locked: `WITH "line" AS MATERIALIZED (SELECT pg_advisory_xact_lock(${lineNumber(`$2::text || '/' || ${recordKey}`)}))
INSERT INTO "OutboxEvent" (${columns}, "recordKey")
SELECT ${values}, ${recordKey} FROM "line"
ON CONFLICT DO NOTHING`,
  };
}

/**
 * The statements that a connection prepares once, by text: planning the INSERT afresh took longer than running it (0.28 ms against
 * 0.12 ms, with the table's CHECK constraints and defaults).
 */
export const PREPARED_PUBLISH_STATEMENTS: ReadonlyMap<string, string> = new Map(
  Object.entries(INSERT_ONE).flatMap(([size, kinds]) =>
    Object.entries(kinds).map(([kind, sql]) => [sql, `toolctrl_publish_${size}_${kind}`] as const),
  ),
);

// Taken in the order of their numbers, so that two lists never wait for each other.
const LOCK_LINES = `WITH "lines" AS MATERIALIZED (
  SELECT pg_advisory_xact_lock("number") FROM (
    SELECT DISTINCT ${lineNumber(`"name"`)} AS "number" FROM jsonb_array_elements_text($2::jsonb) AS names("name") ORDER BY 1
  ) AS numbers
), "held" AS MATERIALIZED (SELECT count(*) FROM "lines")
`;

/**
 * The INSERTs of many events: $1 is the rows as one JSON text, $2 (`keyed` alone) the names of the lines to lock as a JSON array.
 * "position" is drawn in the order of the sort, that is, of the list, and after the last lock: a sort reads all of its input first.
 */
export const INSERT_MANY: Readonly<Record<"legacy" | "keyed", string>> = {
  legacy: insertMany({ recordKey: "", from: "" }),
  keyed: `${LOCK_LINES}${insertMany({ recordKey: `, "recordKey"`, from: `, "held"` })}`,
};

function insertMany({ recordKey, from }: { readonly recordKey: string; readonly from: string }): string {
  return `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "version", "payload", "dispatchKey", "scheduledAt",
  "correlationId", "causationId", "depth", "traceparent", "tracestate"${recordKey})
SELECT e."id", e."tenantId", e."eventType", e."version", e."payload", e."dispatchKey", GREATEST(clock_timestamp(), e."scheduledAt"),
  e."correlationId", e."causationId", e."depth", e."traceparent", e."tracestate"${recordKey}
FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS ("id" uuid, "tenantId" text, "eventType" text, "version" int, "payload" jsonb,
  "dispatchKey" text, "scheduledAt" timestamptz, "correlationId" text, "causationId" text, "depth" int, "traceparent" text,
  "tracestate" text, "recordKey" text)) WITH ORDINALITY AS e("id", "tenantId", "eventType", "version", "payload", "dispatchKey",
  "scheduledAt", "correlationId", "causationId", "depth", "traceparent", "tracestate", "recordKey", "place")${from}
ORDER BY e."place"
ON CONFLICT DO NOTHING
RETURNING "OutboxEvent"."id"::text AS "id"`;
}

/**
 * Which events hold the dispatch keys of a list. A statement of its own: inside the INSERT, its older snapshot would not see a rival
 * that committed in between.
 */
export const FIND_EXISTING = `SELECT k."place"::int AS "place", o."id"::text AS "id"
FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS ("tenantId" text, "dispatchKey" text)) WITH ORDINALITY
  AS k("tenantId", "dispatchKey", "place")
JOIN "OutboxEvent" o ON o."tenantId" = k."tenantId" AND o."dispatchKey" = k."dispatchKey"`;

export const FIND_ONE = `SELECT "id"::text AS "id" FROM "OutboxEvent" WHERE "tenantId" = $1::text AND "dispatchKey" = $2::text`;
