import { assertOutboxTransaction, type OutboxTransaction } from "./outbox-transaction.ts";
import type { ReceiptScope } from "./receipt-authority.ts";
import { encodeReceiptResult } from "./receipt-result.ts";

// The row is the lock: a second delivery waits here until the first has ended, then finds its receipt.
const TAKE = `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "effectEpoch", "tenantId", "outcome")
SELECT $1::uuid, $2::text, $3::int, $4::text, 'done'
WHERE NOT ($5::boolean AND EXISTS (
  SELECT 1 FROM "OutboxReceipt" r WHERE r."eventId" = $1::uuid AND r."consumer" = $2::text AND r."outcome" = 'done'))
ON CONFLICT ("eventId", "consumer", "effectEpoch") DO UPDATE
SET "outcome" = 'done', "result" = NULL, "detail" = NULL, "updatedAt" = clock_timestamp()
WHERE "OutboxReceipt"."outcome" = 'dead'`;

const FIND = `SELECT "result"::text AS "result" FROM "OutboxReceipt"
WHERE "eventId" = $1::uuid AND "consumer" = $2::text AND "outcome" = 'done' AND ($4::boolean OR "effectEpoch" = $3::int)
ORDER BY "effectEpoch" DESC LIMIT 1`;

const KEEP_RESULT = `UPDATE "OutboxReceipt" SET "result" = $4::jsonb, "detail" = $5::text
WHERE "eventId" = $1::uuid AND "consumer" = $2::text AND "effectEpoch" = $3::int`;

const GIVE_BACK = `DELETE FROM "OutboxReceipt" WHERE "eventId" = $1::uuid AND "consumer" = $2::text AND "effectEpoch" = $3::int`;

export type ReceiptedResult<T> = { readonly duplicate: false; readonly result: T } | { readonly duplicate: true; readonly result: unknown };

/**
 * Runs a handler whose effects are writes of the same transaction, exactly once per event, consumer and epoch: receipt and effects
 * commit together. A second delivery gets the recorded result; one at the same time waits for the first (bounded by `lock_timeout`).
 *
 * When the handler throws, the receipt is taken back and the error passed on; let it leave the transaction, so that the handler's
 * own writes are rolled back too.
 *
 * @throws CodedError `PUBLISH.ROOT_CLIENT`; what the handler throws
 */
export async function withOutboxReceipt<T>(
  tx: OutboxTransaction,
  scope: ReceiptScope & { readonly eventId: string },
  handler: () => Promise<T>,
): Promise<ReceiptedResult<T>> {
  assertOutboxTransaction(tx);
  const { eventId, tenantId, consumer, effectEpoch, anyEpoch = false } = scope;
  const taken = await tx.$executeRawUnsafe(TAKE, eventId, consumer, effectEpoch, tenantId, anyEpoch);
  if (taken === 0) return { duplicate: true, result: await findResult() };
  const result = await runHandler();
  const { json, detail } = encodeReceiptResult(result);
  if (json !== null || detail !== null) await tx.$executeRawUnsafe(KEEP_RESULT, eventId, consumer, effectEpoch, json, detail);
  return { duplicate: false, result };

  async function findResult(): Promise<unknown> {
    const rows = await tx.$queryRawUnsafe<Array<{ result: string | null }>>(FIND, eventId, consumer, effectEpoch, anyEpoch);
    const text = rows[0]?.result;
    return typeof text === "string" ? JSON.parse(text) : undefined;
  }

  async function runHandler(): Promise<T> {
    try {
      return await handler();
    } catch (error) {
      // A caller that swallows the error must not commit a receipt. Where a statement failed, the transaction is lost anyway.
      await Promise.resolve(tx.$executeRawUnsafe(GIVE_BACK, eventId, consumer, effectEpoch)).catch(() => undefined);
      throw error;
    }
  }
}
