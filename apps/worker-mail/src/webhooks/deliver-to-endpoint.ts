import type { Delivery } from "@toolctrl/consumer/define";
import { callUnderIntent, type CallRequest, type CallTerms, type ExternalCall } from "@toolctrl/consumer/external-call";
import type { Intent } from "@toolctrl/consumer/intents";
import type { Queryable } from "@toolctrl/db/sql";
import { disableWebhookEndpoint, loadWebhookTarget, openWebhookSecrets, signedRequest } from "@toolctrl/domain/webhook-endpoints";
import { CodedError } from "@toolctrl/foundation/errors";
import type { WebhookDeliverDeps } from "../webhook-deliver.ts";

export const WEBHOOK_DELIVER = "webhook-deliver";

export const WEBHOOK_TERMS = {
  consumer: WEBHOOK_DELIVER,
  peer: "endpoint",
  codes: { gone: "WEBHOOK.GONE", rejected: "WEBHOOK.REJECTED", failed: "WEBHOOK.FAILED", unknown: "WEBHOOK.OUTCOME_UNKNOWN" },
} as const satisfies CallTerms;

/** One try at one endpoint: whatever comes of it is written to its intent, and no other endpoint hears of it. */
export function deliverToEndpoint(delivery: Delivery, intent: Intent, body: Buffer, deps: WebhookDeliverDeps): Promise<void> {
  const endpoint = { tenantId: delivery.tenantId, id: intent.target };
  const call: ExternalCall = {
    terms: WEBHOOK_TERMS,
    prepare: (tx) => requestOf(tx, endpoint, { id: intent.externalId, body, depth: delivery.envelope.depth }, deps),
    async onSettle(tx, verdict) {
      if (verdict.kind === "gone") await disableWebhookEndpoint(tx, endpoint, `answered 410 to ${intent.externalId}`);
    },
  };
  return callUnderIntent(delivery, intent, call, deps);
}

async function requestOf(
  tx: Queryable,
  endpoint: { tenantId: string; id: string },
  call: { id: string; body: Buffer; depth: number },
  deps: Pick<WebhookDeliverDeps, "secretsKey">,
): Promise<CallRequest | CodedError> {
  const target = await loadWebhookTarget(tx, endpoint);
  if (target === null || !target.enabled) {
    const state = target === null ? "deleted" : "disabled";
    return new CodedError("WEBHOOK.GONE", `expected endpoint ${endpoint.id} to be enabled, it is ${state}`);
  }
  try {
    return signedRequest({ url: target.url, ...call, secrets: openWebhookSecrets(target, deps.secretsKey) });
  } catch (cause) {
    return new CodedError("WEBHOOK.SECRET", `expected the secrets of endpoint ${target.id} to open`, {
      facts: { endpointId: target.id },
      cause,
    });
  }
}
