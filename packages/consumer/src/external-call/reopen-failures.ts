import { transaction } from "@toolctrl/db/client";
import type { Delivery } from "../define.ts";
import { reopenRequeued, type Intent } from "../intents.ts";
import { isFailure } from "./conclude-intents.ts";
import type { CallDeps, CallTerms } from "./external-call.ts";

/** Has those of a delivery's intents that failed for good start anew, if its event was requeued since. False when there is nothing to reopen. */
export async function reopenFailures(
  delivery: Delivery,
  intents: readonly Intent[],
  { consumer, codes }: Pick<CallTerms, "consumer" | "codes">,
  { pool, log }: Pick<CallDeps, "pool" | "log">,
): Promise<boolean> {
  const failed = intents.filter((intent) => isFailure(intent, codes));
  if (failed.length === 0) return false;
  return transaction(pool, (tx) => reopenRequeued(tx, delivery, consumer, failed, log));
}
