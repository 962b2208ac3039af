import { transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf, type OutboxTransaction } from "@toolctrl/db/outbox";
import { withOutboxReceipt } from "@toolctrl/db/outbox-receiver";
import type { Queryable } from "@toolctrl/db/sql";
import { errorCodeOf } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { Consumer, Delivery } from "./define.ts";
import { receiptName } from "./receipt-name.ts";

const LOCK_NOT_AVAILABLE = "55P03";
const SNOOZE_MS = 1000;

/**
 * Runs a consumer's effect where that is writes of one transaction: effect and receipt commit together, the receipt first, so that a
 * rival delivery of the same event waits on the receipt's key until this transaction ends, and then finds it done.
 *
 * `outbox` is the same transaction for publishing: its events are there when the effect is, and the drainers are hinted then. A lock that
 * somebody else held for too long says nothing about this event: the delivery waits a moment and uses no attempt.
 * @throws what `effect` throws, after everything was rolled back
 */
export async function databaseEffect<T>(
  pool: Database["pool"],
  consumer: Consumer["name"],
  delivery: Delivery,
  effect: (tx: Queryable, outbox: OutboxTransaction) => Promise<T>,
): Promise<JobOutcome> {
  const { eventId, tenantId, effectEpoch } = delivery;
  // A consumer that is being replayed is held back by its receipt of this very epoch only.
  const anyEpoch = delivery.envelope.replayConsumer !== consumer;
  const scope = { eventId, tenantId, consumer: receiptName(consumer, delivery.envelope), effectEpoch, anyEpoch };
  try {
    const { result } = await transaction(pool, (tx) => {
      const outbox = outboxTransactionOf(tx);
      return withOutboxReceipt(outbox, scope, () => effect(tx, outbox));
    });
    return { kind: "done", result };
  } catch (error) {
    if (errorCodeOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    return { kind: "snooze", untilMs: Date.now() + SNOOZE_MS };
  }
}
