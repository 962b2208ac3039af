import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

/** How a claim ends. `retry` and `dead` count a failure, `snooze` does not. */
export type Settlement = { readonly id: string; readonly lockToken: string } & (
  | { readonly outcome: "done" }
  | { readonly outcome: "retry" | "snooze"; readonly delayMs: number; readonly errorCode: string; readonly error: string }
  /** `parks`: the dead event goes on holding its record's line. `crashed`: nobody reported a failure, so none is counted. */
  | { readonly outcome: "dead"; readonly errorCode: string; readonly error: string; readonly parks?: boolean; readonly crashed?: boolean }
);

const STATUS = { done: "DONE", retry: "PENDING", snooze: "PENDING", dead: "FAILED" } as const;
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
  STATUS[s.outcome],
  "crashed" in s && s.crashed === true ? 0 : COUNTS[s.outcome],
  "delayMs" in s ? s.delayMs : 0,
  "errorCode" in s ? s.errorCode : null,
  "error" in s ? s.error : null,
  "parks" in s && s.parks === true,
];

/** The same for one claim, as a statement of its claimer's own transaction: it has to change one row. */
export function settleOneStatement(settlement: Settlement): { readonly text: string; readonly values: unknown[] } {
  return { text: ONE, values: valuesOf(settlement) };
}

/** @returns the ids that were settled; the others' leases were lost. */
export async function settleEvents(db: Queryable, settlements: readonly Settlement[]): Promise<Set<string>> {
  if (settlements.length === 0) return new Set();
  const rowsOfValues = settlements.map(valuesOf);
  const columns = rowsOfValues[0]?.map((_value, column) => rowsOfValues.map((values) => values[column])) ?? [];
  const { rows } = await db.query<{ id: string }>(MANY, columns);
  return new Set(z.array(z.object({ id: z.string() })).parse(rows).map((row) => row.id));
}
