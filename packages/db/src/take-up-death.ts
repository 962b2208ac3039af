import type { ConsumerKey } from "./receipt-authority.ts";
import type { Queryable } from "./sql.ts";

const TAKE_UP = `DELETE FROM "OutboxReceipt"
WHERE "eventId" = $1::uuid AND "consumer" = $2::text AND "effectEpoch" = $3::int AND "tenantId" = $4::text
  AND "outcome" = 'dead' AND "generation" < $5::int`;

/**
 * Takes back that a consumer gave up on an event, for a delivery of a later generation: the event was requeued since. True for one delivery of
 * each death, in the transaction that gives it a new start; the same job again, which only its queue repeats, finds none to take back.
 *
 * Lock: the receipt. Index: its primary key. A crash costs nothing: the death falls back with the transaction.
 */
export async function takeUpDeath(
  db: Queryable,
  receipt: ConsumerKey & { readonly eventId: string; readonly generation: number },
): Promise<boolean> {
  const { eventId, consumer, effectEpoch, tenantId, generation } = receipt;
  const { rowCount } = await db.query(TAKE_UP, [eventId, consumer, effectEpoch, tenantId, generation]);
  return rowCount === 1;
}
