import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

/** How a claim ends. `retry` and `dead` count a failure, `snooze` does not. */
export type Settlement = { readonly id: string; readonly lockToken: string } & (
  | { readonly outcome: "done" }
  | { readonly outcome: "retry" | "snooze"; readonly delayMs: number; readonly errorCode: string; readonly error: string }
  /** `parks`: the dead event goes on holding its record's line. `crashed`: nobody reported a failure, so none is counted. */
  | { readonly outcome: "dead"; readonly errorCode: string; readonly error: string; readonly parks?: boolean; readonly crashed?: boolean }
);

/** The status in which a settlement leaves its event. */
export const STATUS_AFTER = { done: "DONE", retry: "PENDING", snooze: "PENDING", dead: "FAILED" } as const;
const COUNTS = { done: 0, retry: 1, snooze: 0, dead: 1 } as const;

/**
 * Ends claims, in bulk. Fenced: a claim that is no longer ours is left as it is, and its id is missing from the answer.
 *
 * - Lock: each event's row. Index: the primary key. Order: none.
 * - Idempotent: a second call after a lost answer changes nothing and reports the ids as lost; the caller looks twice only then.
 */
const settleFrom = (source: string): string => `
UPDATE "OutboxEvent" e
SET "status" = s."status"::"OutboxStatus", "retries" = e."retries" + s."counts",
    "scheduledAt" = CASE WHEN s."status" = 'PENDING' THEN clock_timestamp() + s."delayMs" * interval '1 millisecond' ELSE e."scheduledAt" END,
    "lockedUntil" = NULL, "lockToken" = NULL, "claimMode" = NULL, "blocksLine" = s."status" = 'PENDING' OR s."parks",
    "processedAt" = CASE WHEN s."status" = 'DONE' THEN clock_timestamp() END,
    "lastErrorCode" = COALESCE(s."errorCode", e."lastErrorCode"), "lastError" = COALESCE(s."error", e."lastError"),
    "updatedAt" = clock_timestamp()
FROM (${source}) AS s("id", "lockToken", "status", "counts", "delayMs", "errorCode", "error", "parks")
WHERE e."id" = s."id" AND e."status" = 'PROCESSING' AND e."lockToken" = s."lockToken"`;

const MANY = `${settleFrom(
  `SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::float8[], $6::text[], $7::text[], $8::bool[])`,
)} RETURNING e."id"`;
const ONE = settleFrom(`SELECT $1::uuid, $2::uuid, $3::text, $4::int, $5::float8, $6::text, $7::text, $8::bool`);

const valuesOf = (s: Settlement): [string, string, string, number, number, string | null, string | null, boolean] => [
  s.id,
  s.lockToken,
  STATUS_AFTER[s.outcome],
  "crashed" in s && s.crashed ? 0 : COUNTS[s.outcome],
  "delayMs" in s ? s.delayMs : 0,
  "errorCode" in s ? s.errorCode : null,
  "error" in s ? s.error : null,
  "parks" in s && (s.parks ?? false),
];

/** The same for one claim, as a statement of its claimer's own transaction: it has to change one row. */
export function settleOneStatement(settlement: Settlement): { readonly text: string; readonly values: unknown[] } {
  return { text: ONE, values: valuesOf(settlement) };
}

/** The same for claims that all end well and have one fence, as nearly all batches do: a third of the parameters, none of the cases. */
const ALL_DONE = `
UPDATE "OutboxEvent" e
SET "status" = 'DONE', "lockedUntil" = NULL, "lockToken" = NULL, "claimMode" = NULL, "blocksLine" = false,
    "processedAt" = clock_timestamp(), "updatedAt" = clock_timestamp()
WHERE e."id" = ANY ($1::uuid[]) AND e."status" = 'PROCESSING' AND e."lockToken" = $2::uuid
RETURNING e."id"`;

const rowsSchema = z.array(z.object({ id: z.string() }));

/** @returns the ids that were settled; the others' leases were lost. */
export async function settleEvents(db: Queryable, settlements: readonly Settlement[]): Promise<Set<string>> {
  const [first] = settlements;
  if (first === undefined) return new Set();
  const allDone = settlements.every((s) => s.outcome === "done" && s.lockToken === first.lockToken);
  const { rows } = allDone
    ? await db.query(ALL_DONE, [settlements.map((s) => s.id), first.lockToken])
    : await db.query(MANY, columnsOf(settlements));
  return new Set(rowsSchema.parse(rows).map((row) => row.id));
}

function columnsOf(settlements: readonly Settlement[]): unknown[] {
  const rows = settlements.map(valuesOf);
  return rows[0]?.map((_value, column) => rows.map((values) => values[column])) ?? [];
}
