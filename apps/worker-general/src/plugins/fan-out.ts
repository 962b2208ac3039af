import type { Delivery } from "@toolctrl/consumer/define";
import { isFailure, isOpen } from "@toolctrl/consumer/external-call";
import { externalIdOf, insertIntents, listIntents, type Intent } from "@toolctrl/consumer/intents";
import { transaction, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { findSubscribedPlugins } from "@toolctrl/domain/plugins";
import { invocationKey, PLUGIN_TERMS, type InvocationKey } from "./invocation.ts";
import { lockInvocations, sumUpInvocations, withdrawSum } from "./sum-up-invocations.ts";

type FanOutDelivery = Pick<Delivery, "eventId" | "tenantId" | "type" | "envelope">;

/**
 * Writes one intent per enabled subscription to the event, and when nobody subscribes that all is done. Those that are there stay as they are: a
 * fan-out that is replayed adds the plugins that have subscribed since.
 */
export async function fanOut(tx: Queryable, delivery: FanOutDelivery): Promise<{ subscriptions: number }> {
  const key = invocationKey(delivery);
  const targets = await findSubscribedPlugins(tx, delivery);
  await insertIntents(tx, key, targets, (target) => externalIdOf(key, target));
  await lockInvocations(tx, key);
  const intents = await listIntents(tx, key);
  if (intents.length === 0) await sumUpInvocations(tx, key, delivery.envelope.generation);
  if (intents.some(isOpen)) await withdrawSum(tx, key);
  return { subscriptions: targets.length };
}

/** The hooks of an event that have something left to do: not settled, or dead. On a deliberate repeat of `plugin-invoke` they are made first. */
export async function unfinishedHooks(pool: Database["pool"], delivery: FanOutDelivery): Promise<string[]> {
  const key = invocationKey(delivery);
  if (key.effectEpoch > 0) await repeatHooks(pool, key, delivery.envelope.generation);
  const intents = await listIntents(pool, key);
  return intents.filter((intent) => isOpen(intent) || isDead(intent)).map(({ target }) => target);
}

function isDead(intent: Intent): boolean {
  return isFailure(intent, PLUGIN_TERMS.codes);
}

const EARLIER_TARGETS = `SELECT DISTINCT "target" FROM "OutboxIntent"
  WHERE "eventId" = $1 AND "consumer" = $2 AND "effectEpoch" < $3 AND "tenantId" = $4 ORDER BY "target"`;

/** A repeat calls the subscriptions that were called before: who subscribed later never had this event. */
async function repeatHooks(pool: Database["pool"], key: InvocationKey, generation: number): Promise<void> {
  await transaction(pool, async (tx) => {
    const { rows } = await tx.query<{ target: string }>(EARLIER_TARGETS, [key.eventId, key.consumer, key.effectEpoch, key.tenantId]);
    const targets = rows.map(({ target }) => target);
    await insertIntents(tx, key, targets, (target) => externalIdOf(key, target));
    if ((await listIntents(tx, key)).length === 0) await sumUpInvocations(tx, key, generation);
  });
}
