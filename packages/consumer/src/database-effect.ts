import { transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf, type OutboxTransaction } from "@toolctrl/db/outbox";
import { withOutboxReceipt } from "@toolctrl/db/outbox-receiver";
import type { Queryable } from "@toolctrl/db/sql";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { Consumer, Delivery } from "./define.ts";
import { lockSnooze } from "./lock-snooze.ts";
import { receiptScopeOf } from "./receipt-name.ts";

/**
 * Runs a consumer's effect where that is writes of one transaction: effect and receipt commit together, the receipt first, so that a
 * rival delivery of the same event waits on the receipt's key until this transaction ends, and then finds it done.
 *
 * `outbox` is the same transaction for publishing: its events are there when the effect is, and the drainers are hinted then. A lock that
 * somebody else held for too long snoozes the delivery.
 * @throws what `effect` throws, after everything was rolled back
 */
export async function databaseEffect<T>(
  pool: Database["pool"],
  consumer: Consumer["name"],
  delivery: Delivery,
  effect: (tx: Queryable, outbox: OutboxTransaction) => Promise<T>,
): Promise<JobOutcome> {
  const scope = receiptScopeOf(consumer, delivery);
  try {
    const { result } = await transaction(pool, (tx) => {
      const outbox = outboxTransactionOf(tx);
      return withOutboxReceipt(outbox, scope, () => effect(tx, outbox));
    });
    return { kind: "done", result };
  } catch (error) {
    const snooze = lockSnooze(error);
    if (snooze === null) throw error;
    return snooze;
  }
}
