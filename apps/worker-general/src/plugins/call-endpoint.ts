import type { Delivery } from "@toolctrl/consumer/define";
import { callUnderIntent, type CallRequest, type ExternalCall, type Uncalled } from "@toolctrl/consumer/external-call";
import type { Intent } from "@toolctrl/consumer/intents";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import { disablePluginSubscription, loadPluginTarget, openPluginSecrets } from "@toolctrl/domain/plugins";
import { signedRequest, webhookBody } from "@toolctrl/domain/webhook-endpoints";
import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import { hookPayload } from "./hook-payload.ts";
import { PLUGIN_TERMS, type PluginInvokeDeps } from "./invocation.ts";
import { settleInvocation } from "./settle-invocation.ts";

/** One signed call of a subscription's URL, in the form of Standard Webhooks: whatever comes of it is written to its intent. */
export function callEndpoint(delivery: Delivery, intent: Intent, deps: PluginInvokeDeps): Promise<void> {
  const subscription = { tenantId: delivery.tenantId, id: intent.target };
  const call: ExternalCall = {
    terms: PLUGIN_TERMS,
    prepare: (tx) => requestOf(tx, delivery, intent, deps),
    async onSettle(tx, verdict, end) {
      if (verdict.kind === "gone")
        await disablePluginSubscription(outboxTransactionOf(tx), subscription, `answered 410 to ${intent.externalId}`);
      await settleInvocation(tx, delivery, end);
    },
  };
  return callUnderIntent(delivery, intent, call, deps);
}

async function requestOf(
  tx: Queryable,
  delivery: Delivery,
  { target: id, externalId }: Intent,
  deps: PluginInvokeDeps,
): Promise<CallRequest | Uncalled | CodedError> {
  const target = await loadPluginTarget(tx, { tenantId: delivery.tenantId, id });
  if (target === null || !target.enabled) return subscriptionGone(id, target === null ? "deleted" : "disabled");
  // It was disabled a moment ago; the next look finds a function.
  if (target.kind === "function") return { kind: "later", waitMs: 100 };
  const body = webhookBody({ type: delivery.type, createdAt: delivery.envelope.createdAt, data: hookPayload(delivery.payload) });
  try {
    const secrets = openPluginSecrets(target, deps.secretsKey);
    return signedRequest({ url: target.url, id: externalId, body, secrets, depth: delivery.envelope.depth });
  } catch (error) {
    if (isCodedError(error) && error.code === "PLUGIN.SECRET") return error;
    throw error;
  }
}

function subscriptionGone(id: string, state: "deleted" | "disabled"): CodedError {
  return new CodedError("PLUGIN.GONE", `expected subscription ${id} to be enabled, it is ${state}`, { facts: { subscriptionId: id } });
}
