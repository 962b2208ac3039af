import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { concludeIntents, isOpen, reopenFailures, runBounded, type CallDeps } from "@toolctrl/consumer/external-call";
import { externalIdOf, insertIntents, listIntents, type Intent } from "@toolctrl/consumer/intents";
import { findSubscribedEndpoints, webhookBody } from "@toolctrl/domain/webhook-endpoints";
import { CodedError } from "@toolctrl/foundation/errors";
import { webhookMessageSchema } from "@toolctrl/foundation/events";
import { z } from "zod";
import { deliverToEndpoint, WEBHOOK_DELIVER, WEBHOOK_TERMS } from "./webhooks/deliver-to-endpoint.ts";

export interface WebhookDeliverDeps extends CallDeps {
  /** 32 bytes in base64: opens the endpoints' secrets. */
  readonly secretsKey: string;
  readonly concurrency: number;
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
      return concludeIntents(await listIntents(deps.pool, keyOf(delivery)), WEBHOOK_TERMS, deps);
    },
  };
}

/**
 * The event's intents, one per endpoint. The endpoints are those subscribed when the event is first delivered; on a requeue after its
 * death those that failed start anew.
 */
async function fanOut(delivery: Delivery, deps: WebhookDeliverDeps): Promise<Intent[]> {
  const key = keyOf(delivery);
  const intents = await listIntents(deps.pool, key);
  if (intents.length === 0) {
    const targets = await findSubscribedEndpoints(deps.pool, { tenantId: delivery.tenantId, type: delivery.type });
    await insertIntents(deps.pool, key, targets, externalIdOf(delivery));
  } else if (!(await reopenFailures(delivery, intents, WEBHOOK_TERMS, deps))) {
    return intents;
  }
  return listIntents(deps.pool, key);
}

function keyOf({ eventId, tenantId, effectEpoch }: Delivery) {
  return { eventId, tenantId, effectEpoch, consumer: WEBHOOK_DELIVER };
}

function bodyOf(delivery: Delivery): Buffer {
  const parsed = webhookMessageSchema.safeParse(delivery.payload);
  if (!parsed.success) {
    throw new CodedError("RECEIVER.PAYLOAD", `expected the payload to be a JSON object, got:\n${z.prettifyError(parsed.error)}`);
  }
  return webhookBody({ type: delivery.type, createdAt: delivery.envelope.createdAt, data: parsed.data });
}
