import type { Delivery } from "@toolctrl/consumer/define";
import {
  abandonIntent,
  beginIntent,
  endIntent,
  intentLost,
  settleIntentUncalled,
  type Intent,
  type IntentEnd,
} from "@toolctrl/consumer/intents";
import { transaction } from "@toolctrl/db/client";
import {
  disableWebhookEndpoint,
  loadWebhookTarget,
  openWebhookSecrets,
  signWebhook,
  type WebhookTarget,
} from "@toolctrl/domain/webhook-endpoints";
import { assertNever, CodedError } from "@toolctrl/foundation/errors";
import { uuidv7 } from "uuidv7";
import type { WebhookDeliverDeps } from "../webhook-deliver.ts";
import { judgeAnswer, judgeError, type Verdict } from "./judge-answer.ts";

export const WEBHOOK_DELIVER = "webhook-deliver";
const MAX_BACKOFF_MS = 60 * 60 * 1000;
/** Nothing in an answer's body is used; reading a little of it lets an endpoint end its answer properly. */
const MAX_RESPONSE_BYTES = 1024;

/** One try at one endpoint: whatever comes of it is written to its intent, and no other endpoint hears of it. */
export async function deliverToEndpoint(delivery: Delivery, intent: Intent, body: Buffer, deps: WebhookDeliverDeps): Promise<void> {
  if (intent.state === "sending" && !(await takeOver(intent, deps))) return;
  const endpoint = { tenantId: delivery.tenantId, id: intent.target };
  const target = await loadWebhookTarget(deps.pool, endpoint);
  if (target === null || !target.enabled) {
    const error = new CodedError(
      "WEBHOOK.GONE",
      `expected endpoint ${intent.target} to be enabled, it is ${target === null ? "deleted" : "disabled"}`,
    );
    return settleUncalled(intent, error, deps);
  }
  const secrets = readSecrets(target, deps);
  if (secrets instanceof CodedError) return settleUncalled(intent, secrets, deps);
  const token = uuidv7();
  await beginIntent(deps.pool, intent.id, token);
  const verdict = await post(target, { id: intent.externalId, body, secrets, signal: delivery.signal }, deps);
  await settle(delivery, intent, token, verdict, deps);
}

/** False while the call may still be running: a flushed store gives its event to a second delivery. */
async function takeOver(intent: Intent, deps: WebhookDeliverDeps): Promise<boolean> {
  const abandoned = await abandonIntent(deps.pool, intent.id, deps.deadlineMs, "WEBHOOK.OUTCOME_UNKNOWN");
  if (abandoned) deps.metrics.add("outbox_outcome_unknown_total", 1, { consumer: WEBHOOK_DELIVER });
  return abandoned;
}

function readSecrets(target: WebhookTarget, deps: WebhookDeliverDeps): string[] | CodedError {
  try {
    return openWebhookSecrets(target, deps.secretsKey);
  } catch (cause) {
    return new CodedError("WEBHOOK.SECRET", `expected the secrets of endpoint ${target.id} to open`, {
      facts: { endpointId: target.id },
      cause,
    });
  }
}

type Post = { readonly id: string; readonly body: Buffer; readonly secrets: readonly string[]; readonly signal: AbortSignal };

async function post(target: WebhookTarget, { id, body, secrets, signal }: Post, deps: WebhookDeliverDeps): Promise<Verdict> {
  const signature = signWebhook({ id, timestampSeconds: Math.floor(Date.now() / 1000), body, secrets });
  try {
    const answer = await deps.http.request({
      url: target.url,
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "Toolctrl-Outbox/1", ...signature },
      body,
      deadlineMs: deps.deadlineMs,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      signal,
    });
    return judgeAnswer(answer, deps);
  } catch (error) {
    return judgeError(error, deps);
  }
}

async function settle(delivery: Delivery, intent: Intent, token: string, verdict: Verdict, deps: WebhookDeliverDeps): Promise<void> {
  const end = endOf(verdict, intent.attempts + 1, deps);
  const ours = await transaction(deps.pool, async (tx) => {
    if (verdict.kind === "gone")
      await disableWebhookEndpoint(tx, { tenantId: delivery.tenantId, id: intent.target }, `answered 410 to ${intent.externalId}`);
    return endIntent(tx, intent.id, token, end);
  });
  const unknown = verdict.kind === "retry" && verdict.unknown;
  if (unknown) deps.metrics.add("outbox_outcome_unknown_total", 1, { consumer: WEBHOOK_DELIVER });
  if (verdict.kind !== "accepted") {
    deps.log.info(
      { eventId: delivery.eventId, endpointId: intent.target, attempt: intent.attempts + 1, state: end.state, err: verdict.error },
      "webhook not accepted",
    );
  }
  if (!ours) throw intentLost(intent.id, "to be ours at the end of the try");
}

function endOf(verdict: Verdict, attempts: number, deps: WebhookDeliverDeps): IntentEnd {
  switch (verdict.kind) {
    case "accepted":
      return { state: "sent" };
    case "gone":
    case "permanent":
      return { state: "failed", error: verdict.error };
    case "retry": {
      const { error, unknown } = verdict;
      if (attempts >= deps.maxAttempts) return { state: "failed", error, unknown };
      // Endpoints that fell over together must not all be called again in the same instant.
      const backoffMs = Math.min(deps.backoffMs * 2 ** (attempts - 1), MAX_BACKOFF_MS) * (1 + Math.random() / 10);
      return { state: unknown ? "unknown" : "pending", error, waitMs: Math.max(backoffMs, verdict.askedMs ?? 0) };
    }
    default:
      return assertNever(verdict);
  }
}

async function settleUncalled(intent: Intent, error: CodedError, deps: WebhookDeliverDeps): Promise<void> {
  if (!(await settleIntentUncalled(deps.pool, intent.id, { state: "failed", error })))
    throw intentLost(intent.id, "to be pending or unknown");
}
