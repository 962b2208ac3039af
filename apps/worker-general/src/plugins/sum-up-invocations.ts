import { concludeIntents } from "@toolctrl/consumer/external-call";
import { listIntents } from "@toolctrl/consumer/intents";
import { createReceiptAuthority, recordDead } from "@toolctrl/db/receipts";
import type { Queryable } from "@toolctrl/db/sql";
import { PLUGIN_FANOUT, PLUGIN_INVOKE, PLUGIN_TERMS, type InvocationKey } from "./invocation.ts";

// The fan-out's receipt stands for the event's hooks as a whole. Without a lock on it, two hooks that end at the same instant each see the other
// still open, and nobody writes the sum.
const LOCK = `SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = $1 AND "consumer" = '${PLUGIN_FANOUT}' ORDER BY "effectEpoch" FOR UPDATE`;

const ANY_OPEN = `SELECT 1 FROM "OutboxIntent"
  WHERE "eventId" = $1 AND "consumer" = $2 AND "effectEpoch" = $3 AND "tenantId" = $4 AND "state" NOT IN ('sent', 'failed') LIMIT 1`;

const DIED_IN = `SELECT COALESCE(max("generation"), 0)::int AS "generation" FROM "OutboxReceipt"
  WHERE "eventId" = $1 AND starts_with("consumer", '${PLUGIN_INVOKE}/') AND "effectEpoch" = $2 AND "outcome" = 'dead'`;

const WITHDRAW = `DELETE FROM "OutboxReceipt" WHERE "eventId" = $1 AND "consumer" = '${PLUGIN_INVOKE}' AND "outcome" = 'done'`;

/** To be taken after the intents were written that the caller writes, and before it looks at the others: those that were settled meanwhile are then seen. */
export async function lockInvocations(tx: Queryable, { eventId }: Pick<InvocationKey, "eventId">): Promise<void> {
  await tx.query(LOCK, [eventId]);
}

/**
 * Writes the receipt `plugin-invoke` of an event, which its route expects, in the transaction that finds all of its hooks settled: `done`, or
 * `dead` when one of them is dead. While one is open, nothing.
 *
 * To be the last of its transaction: the other hooks of the event that end now wait for it. Lock: the fan-out's receipt. Indexes:
 * "OutboxIntent_effect_key", the receipts' primary key. A crash costs nothing: the intent that was settled falls back with the sum.
 */
export async function sumUpInvocations(tx: Queryable, key: InvocationKey, generation: number): Promise<void> {
  const { eventId, tenantId, consumer, effectEpoch } = key;
  await lockInvocations(tx, key);
  const open = await tx.query(ANY_OPEN, [eventId, consumer, effectEpoch, tenantId]);
  if (open.rows.length > 0) return;
  const sum = concludeIntents(await listIntents(tx, key), PLUGIN_TERMS, { deadlineMs: 0 });
  if (sum.kind === "done") await createReceiptAuthority(tx, { tenantId, consumer, effectEpoch }).record(eventId, sum.result);
  if (sum.kind !== "cancel") return;
  // The last hook to end may be of an older job than the one that died.
  const { rows } = await tx.query<{ generation: number }>(DIED_IN, [eventId, effectEpoch]);
  const died = Math.max(generation, rows[0]?.generation ?? 0);
  await recordDead(tx, { eventId, tenantId, consumer, effectEpoch, generation: died, error: sum.error });
}

/** Takes the sum back: hooks have been added that are not settled. */
export async function withdrawSum(tx: Queryable, { eventId }: InvocationKey): Promise<void> {
  await tx.query(WITHDRAW, [eventId]);
}
