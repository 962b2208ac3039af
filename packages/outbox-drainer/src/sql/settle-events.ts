import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

/** How a claim ends. `retry` and `dead` count a failure, `snooze` does not. */
export type Settlement = { readonly id: string; readonly lockToken: string } & (
  | { readonly outcome: "done" }
  | { readonly outcome: "retry" | "snooze"; readonly delayMs: number; readonly errorCode: string; readonly error: string }
  | { readonly outcome: "dead"; readonly errorCode: string; readonly error: string }
);

const STATUS = { done: "DONE", retry: "PENDING", snooze: "PENDING", dead: "FAILED" } as const;
const COUNTS = { done: 0, retry: 1, snooze: 0, dead: 1 } as const;

/**
 * Ends claims, in bulk. Fenced: a claim that is no longer ours is left as it is, and its id is missing from the answer.
 *
 * - Lock: each event's row. Index: the primary key. Order: none.
 * - Idempotent: a second call after a lost answer changes nothing and reports the ids as lost; the caller looks twice only then.
 */
const statement = `
UPDATE "OutboxEvent" e
SET "status" = s."status"::"OutboxStatus", "retries" = e."retries" + s."counts",
    "scheduledAt" = CASE WHEN s."status" = 'PENDING' THEN clock_timestamp() + s."delayMs" * interval '1 millisecond' ELSE e."scheduledAt" END,
    "lockedUntil" = NULL, "lockToken" = NULL, "claimMode" = NULL, "blocksLine" = s."status" = 'PENDING',
    "processedAt" = CASE WHEN s."status" = 'DONE' THEN clock_timestamp() END,
    "lastErrorCode" = COALESCE(s."errorCode", e."lastErrorCode"), "lastError" = COALESCE(s."error", e."lastError"),
    "updatedAt" = clock_timestamp()
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[], $5::float8[], $6::text[], $7::text[])
  AS s("id", "lockToken", "status", "counts", "delayMs", "errorCode", "error")
WHERE e."id" = s."id" AND e."status" = 'PROCESSING' AND e."lockToken" = s."lockToken"
RETURNING e."id"`;

/** The same for claims that all end well and have one fence, as nearly all batches do: a third of the parameters, none of the cases. */
const doneStatement = `
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
  const ids = settlements.map((s) => s.id);
  const allDone = settlements.every((s) => s.outcome === "done" && s.lockToken === first.lockToken);
  const { rows } = allDone
    ? await db.query(doneStatement, [ids, first.lockToken])
    : await db.query(statement, [ids, ...detailsOf(settlements)]);
  return new Set(rowsSchema.parse(rows).map((row) => row.id));
}

function detailsOf(settlements: readonly Settlement[]): unknown[] {
  return [
    settlements.map((s) => s.lockToken),
    settlements.map((s) => STATUS[s.outcome]),
    settlements.map((s) => COUNTS[s.outcome]),
    settlements.map((s) => ("delayMs" in s ? s.delayMs : 0)),
    settlements.map((s) => ("errorCode" in s ? s.errorCode : null)),
    settlements.map((s) => ("error" in s ? s.error : null)),
  ];
}
