import type { DeadDelivery, Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { concludeIntents, isOpen, reopenFailures } from "@toolctrl/consumer/external-call";
import { abandonIntent, findIntent, settleIntentUncalled, type Intent, type IntentKey } from "@toolctrl/consumer/intents";
import { transaction, type Database } from "@toolctrl/db/client";
import { loadPluginTarget } from "@toolctrl/domain/plugins";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import { callEndpoint } from "../plugins/call-endpoint.ts";
import { callFunction } from "../plugins/call-function.ts";
import { invocationKey, PLUGIN_INVOKE, PLUGIN_TERMS, type PluginInvokeDeps } from "../plugins/invocation.ts";
import { sumUpInvocations } from "../plugins/sum-up-invocations.ts";

/**
 * Calls one subscription of an event: its function, or its URL. Each has a job, an intent and a receipt of its own (`plugin-invoke/<subscription>`),
 * with its own attempts and waits, so one that fails neither repeats nor stops the others. The receipt `plugin-invoke`, which the event's route
 * expects, is written by the last of them.
 */
export function createPluginInvokeConsumer(deps: PluginInvokeDeps): NamedConsumer<typeof PLUGIN_INVOKE> {
  return {
    name: PLUGIN_INVOKE,
    queue: "toolctrl.plugin-invoke",
    concurrency: deps.concurrency,
    async handle(delivery) {
      const key = keyOf(delivery);
      const intent = await takeUp(delivery, key, deps);
      const hindered = isOpen(intent) && intent.waitMs <= 0 ? await call(delivery, intent, deps) : null;
      return hindered ?? concludeIntents([await load(deps.pool, key)], PLUGIN_TERMS, deps);
    },
    onDead: (dead) => bury(dead, deps),
  };
}

async function call(delivery: Delivery, intent: Intent, deps: PluginInvokeDeps): Promise<JobOutcome | null> {
  const target = await loadPluginTarget(deps.pool, { tenantId: delivery.tenantId, id: intent.target });
  if (target?.kind === "function" && target.enabled) return callFunction(delivery, intent, target, deps);
  await callEndpoint(delivery, intent, deps);
  return null;
}

/** The hook's intent. One that is dead starts anew when the event was requeued since; the same job again finds it as it was left. */
async function takeUp(delivery: Delivery, key: IntentKey, deps: PluginInvokeDeps): Promise<Intent> {
  const intent = await load(deps.pool, key);
  return (await reopenFailures(delivery, [intent], PLUGIN_TERMS, deps)) ? load(deps.pool, key) : intent;
}

/** A job can die outside of its handler (its process ended too often, the database was away too long): its intent must not stay open then. */
async function bury(dead: DeadDelivery, deps: PluginInvokeDeps): Promise<void> {
  if (dead.envelope.target === undefined) return;
  const key = keyOf(dead);
  await transaction(deps.pool, async (tx) => {
    const intent = await findIntent(tx, key);
    if (intent === null) return;
    if (intent.state === "sending") await abandonIntent(tx, intent.id, 0, PLUGIN_TERMS.codes.unknown);
    await settleIntentUncalled(tx, intent.id, { state: "failed", error: dead.error });
    await sumUpInvocations(tx, invocationKey(dead), dead.envelope.generation);
  });
}

function keyOf(delivery: Pick<Delivery, "eventId" | "tenantId" | "envelope">): IntentKey {
  const { target } = delivery.envelope;
  if (target === undefined) throw new CodedError("RECEIVER.PAYLOAD", "expected the job of a hook to name its subscription, got none");
  return { ...invocationKey(delivery), target };
}

async function load(pool: Database["pool"], key: IntentKey): Promise<Intent> {
  const intent = await findIntent(pool, key);
  if (intent !== null) return intent;
  throw new CodedError("RECEIVER.EVENT_GONE", `expected event ${key.eventId} to have an intent for subscription ${key.target}, got none`, {
    facts: { eventId: key.eventId, subscriptionId: key.target },
  });
}
