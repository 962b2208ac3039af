import type { Queryable } from "@toolctrl/db/sql";
import type { AiCost } from "./ai-cost-for.ts";

/** The event that a cost comes from. `createdAt`, ISO 8601, is its time where the cost names none. */
export interface AiCostSource {
  readonly tenantId: string;
  readonly eventId: string;
  readonly effectEpoch: number;
  readonly createdAt: string;
}

const RECORD = `WITH entry AS (
  INSERT INTO "AiCostEntry" ("eventId", "effectEpoch", "tenantId", "model", "currency", "amount", "inputTokens", "outputTokens", "recordedAt")
  VALUES ($1::uuid, $2::int, $3, $4, $5, $6::numeric, $7::bigint, $8::bigint, $9::timestamptz)
  ON CONFLICT DO NOTHING
  RETURNING *
)
INSERT INTO "AiCostDay" AS d ("tenantId", "day", "model", "currency", "amount", "entries", "repeats", "inputTokens", "outputTokens")
SELECT entry."tenantId", (entry."recordedAt" AT TIME ZONE 'UTC')::date, entry."model", entry."currency", entry."amount",
       1, (entry."effectEpoch" > 0)::int, entry."inputTokens", entry."outputTokens"
  FROM entry
ON CONFLICT ("tenantId", "day", "model", "currency") DO UPDATE
SET "amount" = d."amount" + EXCLUDED."amount", "entries" = d."entries" + 1, "repeats" = d."repeats" + EXCLUDED."repeats",
    "inputTokens" = d."inputTokens" + EXCLUDED."inputTokens", "outputTokens" = d."outputTokens" + EXCLUDED."outputTokens"`;

/**
 * Writes an entry of the ledger and adds it to the sums of its day, in one statement: the sums are the ledger's at any moment. An event has
 * one entry in each epoch; where it is there already, neither is written. An epoch above 0 is a deliberate repeat, and counted as one.
 *
 * To be the last call of its transaction: everybody who spends on the same model on the same day waits for the row of that day.
 *
 * Lock: first the entry's key, then the day's row. Indexes: both primary keys. A crash costs nothing, the receipt is in the same transaction.
 *
 * @returns whether an entry was written.
 */
export async function recordAiCost(tx: Queryable, source: AiCostSource, cost: AiCost): Promise<boolean> {
  const { rowCount } = await tx.query(RECORD, [
    source.eventId,
    source.effectEpoch,
    source.tenantId,
    cost.model,
    cost.currency,
    cost.amount,
    cost.inputTokens,
    cost.outputTokens,
    cost.recordedAt ?? source.createdAt,
  ]);
  return rowCount === 1;
}
