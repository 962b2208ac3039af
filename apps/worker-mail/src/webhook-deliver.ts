import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { insertIntents, listIntents, reopenIntent, type Intent } from "@toolctrl/consumer/intents";
import type { Database } from "@toolctrl/db/client";
import { findSubscribedEndpoints } from "@toolctrl/domain/webhook-endpoints";
import { CodedError } from "@toolctrl/foundation/errors";
import { webhookMessageSchema } from "@toolctrl/foundation/events";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { GuardedHttp } from "@toolctrl/runtime/guarded-http";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { z } from "zod";
import { deliverToEndpoint, WEBHOOK_DELIVER } from "./webhooks/deliver-to-endpoint.ts";
import { runBounded } from "./webhooks/run-bounded.ts";

export interface WebhookDeliverDeps {
  readonly pool: Database["pool"];
  readonly http: Pick<GuardedHttp, "request">;
  /** 32 bytes in base64: opens the endpoints' secrets. */
  readonly secretsKey: string;
  readonly concurrency: number;
  /** The one limit on a whole request, ms; shorter than a claim's life. */
  readonly deadlineMs: number;
  /** Tries per endpoint. */
  readonly maxAttempts: number;
  /** Wait before the second try, ms; doubles with each. */
  readonly backoffMs: number;
  /** Most that a Retry-After can ask for, ms. */
  readonly maxRetryAfterMs: number;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Endpoints of one event that are called at the same time. */
const ENDPOINTS_AT_ONCE = 10;

/**
 * Delivers an event to its tenant's endpoints. Each endpoint has an intent with its own attempts, waits and state, so one that fails
 * neither repeats nor stops the others; the job waits (using no attempt of the queue) until all are settled.
 */
export function createWebhookDeliver(deps: WebhookDeliverDeps): NamedConsumer<typeof WEBHOOK_DELIVER> {
  return {
    name: WEBHOOK_DELIVER,
    queue: "outbox.webhook",
    concurrency: deps.concurrency,
    async handle(delivery) {
      const body = bodyOf(delivery);
      const intents = await fanOut(delivery, deps);
      const due = intents.filter((intent) => isOpen(intent) && intent.waitMs <= 0);
      await runBounded(due, ENDPOINTS_AT_ONCE, (intent) => deliverToEndpoint(delivery, intent, body, deps));
      return conclude(await listIntents(deps.pool, keyOf(delivery)), deps);
    },
  };
}

/**
 * The event's intents, one per endpoint. The endpoints are those subscribed when the event is first delivered; on a requeue after its
 * death (no other delivery finds all settled and some failed), those that failed start anew.
 */
async function fanOut(delivery: Delivery, deps: WebhookDeliverDeps): Promise<Intent[]> {
  const key = keyOf(delivery);
  const intents = await listIntents(deps.pool, key);
  if (intents.length === 0) {
    const targets = await findSubscribedEndpoints(deps.pool, { tenantId: delivery.tenantId, type: delivery.type });
    await insertIntents(deps.pool, key, targets, webhookIdOf(delivery));
    return listIntents(deps.pool, key);
  }
  if (intents.some(isOpen) || !intents.some(isFailure)) return intents;
  for (const intent of intents.filter(isFailure)) {
    await reopenIntent(deps.pool, intent.id);
    const { target, attempts, unknowns } = intent;
    deps.log.info(
      { eventId: delivery.eventId, endpointId: target, attempts, unknowns },
      "a dead webhook was requeued; the endpoint is tried again",
    );
  }
  return listIntents(deps.pool, key);
}

function conclude(intents: readonly Intent[], deps: WebhookDeliverDeps): JobOutcome {
  const waits = intents
    .filter(isOpen)
    .map((intent) => (intent.state === "sending" ? deps.deadlineMs - (intent.sendingForMs ?? 0) : intent.waitMs));
  // A millisecond more than the wait: the queue's clock may round down.
  if (waits.length > 0) return { kind: "snooze", untilMs: Date.now() + Math.max(50, Math.ceil(Math.min(...waits)) + 1) };
  const failures = intents.filter(isFailure);
  if (failures.length === 0)
    return { kind: "done", result: { delivered: intents.filter(({ state }) => state === "sent").length, endpoints: intents.length } };
  const list = failures.map(({ target, attempts, lastErrorCode, lastError }) =>
    `${target} after ${attempts} tries: ${lastErrorCode ?? ""} ${lastError ?? ""}`.trim(),
  );
  return {
    kind: "cancel",
    error: new CodedError(
      "WEBHOOK.REJECTED",
      `expected every endpoint to accept the delivery, got ${failures.length} of ${intents.length} failed for good: ${list.join("; ")}`,
      {
        facts: { failed: failures.map(({ target }) => target), endpoints: intents.length },
      },
    ),
  };
}

function isOpen(intent: Intent): boolean {
  return intent.state === "pending" || intent.state === "unknown" || intent.state === "sending";
}

/** An endpoint that is gone is no failure of the event's. */
function isFailure(intent: Intent): boolean {
  return intent.state === "failed" && intent.lastErrorCode !== "WEBHOOK.GONE";
}

function keyOf({ eventId, tenantId, effectEpoch }: Delivery) {
  return { eventId, tenantId, effectEpoch, consumer: WEBHOOK_DELIVER };
}

/** The same on every try and at every endpoint; another on a deliberate repeat. */
function webhookIdOf({ eventId, effectEpoch }: Delivery): string {
  return effectEpoch === 0 ? eventId : `${eventId}-${effectEpoch}`;
}

/** The bytes that are signed and sent: the Standard Webhooks form, with the time the event was published. */
function bodyOf(delivery: Delivery): Buffer {
  const parsed = webhookMessageSchema.safeParse(delivery.payload);
  if (!parsed.success) {
    throw new CodedError("RECEIVER.PAYLOAD", `expected the payload to be a JSON object, got:\n${z.prettifyError(parsed.error)}`);
  }
  return Buffer.from(JSON.stringify({ type: delivery.type, timestamp: delivery.envelope.createdAt, data: delivery.payload }), "utf8");
}
