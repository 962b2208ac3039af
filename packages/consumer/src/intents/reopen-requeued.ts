import { takeUpDeath } from "@toolctrl/db/receipts";
import type { Queryable } from "@toolctrl/db/sql";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Delivery } from "../define.ts";
import { receiptScopeOf } from "../receipt-name.ts";
import type { Intent } from "./intent.ts";
import { reopenIntent } from "./move-intent.ts";

/**
 * Gives the failed intents of a delivery a fresh budget if their event was requeued since its consumer gave up on it; else leaves them: false.
 *
 * A job also comes again whose process ended between the failure of its last call and the receipt of its death. Nobody asked for that, and
 * nobody is called for it.
 */
export async function reopenRequeued(
  tx: Queryable,
  delivery: Pick<Delivery, "eventId" | "tenantId" | "effectEpoch" | "envelope">,
  consumer: string,
  failed: readonly Intent[],
  log: Logger,
): Promise<boolean> {
  const { generation } = delivery.envelope;
  if (!(await takeUpDeath(tx, { ...receiptScopeOf(consumer, delivery), generation }))) return false;
  for (const { id, target, attempts, unknowns } of failed) {
    await reopenIntent(tx, id);
    log.info({ eventId: delivery.eventId, consumer, target, attempts, unknowns }, "a dead call was requeued; it is made again");
  }
  return true;
}
