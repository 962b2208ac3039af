import { settleOneStatement, type Settlement } from "../sql/settle-events.ts";
import type { AttemptTransaction } from "./attempt-transaction.ts";

/**
 * Settles on the attempt's own transaction, so that it commits with the effects or not at all.
 * @returns false when the claim is no longer ours; then nothing of the transaction may be kept.
 */
export async function settleInTransaction(tx: AttemptTransaction, settlement: Settlement): Promise<boolean> {
  const { text, values } = settleOneStatement(settlement);
  return (await tx.$executeRawUnsafe(text, ...values)) === 1;
}
