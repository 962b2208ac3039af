import type { Delivery } from "@toolctrl/consumer/define";
import type { Queryable } from "@toolctrl/db/sql";

/**
 * Runs a database effect and records its receipt in the same transaction, the receipt first: a rival delivery of the same event waits
 * on the receipt's key until this transaction ends, and then finds it done.
 *
 * A consumer that is being replayed is held back by its receipt of this very epoch only, any other by a receipt of any epoch. A receipt
 * that says `dead` holds nothing back and becomes `done`.
 */
export async function withReceipt(
  tx: Queryable,
  consumer: string,
  delivery: Delivery,
  effect: () => Promise<unknown>,
): Promise<{ duplicate: boolean }> {
  const replayed = delivery.envelope.replayConsumer === consumer;
  const written = await tx.query(
    `INSERT INTO "OutboxReceipt" AS r ("eventId", "consumer", "effectEpoch", "tenantId", "outcome")
     SELECT $1::uuid, $2, $3::int, $4, 'done'
      WHERE $5::boolean OR NOT EXISTS (
        SELECT 1 FROM "OutboxReceipt" d WHERE d."eventId" = $1::uuid AND d."consumer" = $2 AND d."outcome" = 'done')
     ON CONFLICT ("eventId", "consumer", "effectEpoch") DO UPDATE
        SET "outcome" = 'done', "detail" = NULL, "updatedAt" = clock_timestamp() WHERE r."outcome" = 'dead'
     RETURNING 1`,
    [delivery.eventId, consumer, delivery.effectEpoch, delivery.tenantId, replayed],
  );
  if (written.rowCount === 0) return { duplicate: true };
  await effect();
  return { duplicate: false };
}
