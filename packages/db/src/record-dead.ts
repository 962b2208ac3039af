import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import { storableText } from "@toolctrl/foundation/text";
import type { ConsumerKey } from "./receipt-authority.ts";
import type { Queryable } from "./sql.ts";

const RECORD_DEAD = `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "effectEpoch", "tenantId", "outcome", "detail", "generation")
VALUES ($1::uuid, $2::text, $3::int, $4::text, 'dead', $5::text, $6::int)
ON CONFLICT ("eventId", "consumer", "effectEpoch") DO UPDATE
SET "detail" = EXCLUDED."detail", "generation" = greatest("OutboxReceipt"."generation", EXCLUDED."generation"), "updatedAt" = clock_timestamp()
WHERE "OutboxReceipt"."outcome" = 'dead'`;

/**
 * Records that a consumer gave up on an event, in this generation of it; a job of an earlier one that dies later takes nothing back.
 * Suppresses nothing, and never replaces a `done` receipt.
 */
export async function recordDead(
  db: Queryable,
  receipt: ConsumerKey & { readonly eventId: string; readonly generation: number; readonly error: unknown },
): Promise<void> {
  const { eventId, consumer, effectEpoch, tenantId, generation, error } = receipt;
  const detail = typeof error === "string" ? storableText(error) : `${errorCodeOf(error)}: ${describeError(error)}`;
  await db.query(RECORD_DEAD, [eventId, consumer, effectEpoch, tenantId, detail, generation]);
}
