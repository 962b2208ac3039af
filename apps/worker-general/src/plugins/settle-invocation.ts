import type { Delivery } from "@toolctrl/consumer/define";
import { isFailure } from "@toolctrl/consumer/external-call";
import type { IntentEnd } from "@toolctrl/consumer/intents";
import { receiptName } from "@toolctrl/consumer/receipt-name";
import { createReceiptAuthority, recordDead } from "@toolctrl/db/receipts";
import type { Queryable } from "@toolctrl/db/sql";
import { errorCodeOf } from "@toolctrl/foundation/errors";
import { invocationKey, PLUGIN_INVOKE, PLUGIN_TERMS } from "./invocation.ts";
import { sumUpInvocations } from "./sum-up-invocations.ts";

/**
 * Writes what follows from the end of a hook's try, in the transaction that wrote that: for one that is settled its receipt, and the event's when
 * it was the last. So a dead hook is never without the receipt that says in which generation it died.
 */
export async function settleInvocation(
  tx: Queryable,
  delivery: Pick<Delivery, "eventId" | "tenantId" | "envelope">,
  end: IntentEnd,
): Promise<void> {
  if (end.state === "pending" || end.state === "unknown") return;
  const key = invocationKey(delivery);
  const { eventId, tenantId, effectEpoch } = key;
  const { generation } = delivery.envelope;
  const scope = { tenantId, effectEpoch, consumer: receiptName(PLUGIN_INVOKE, delivery.envelope) };
  if (end.state === "failed" && isFailure({ state: "failed", lastErrorCode: errorCodeOf(end.error) }, PLUGIN_TERMS.codes))
    await recordDead(tx, { ...scope, eventId, generation, error: end.error });
  else await createReceiptAuthority(tx, scope).record(eventId, { state: end.state });
  await sumUpInvocations(tx, key, generation);
}
