import type { Prisma } from "@toolctrl/db/client";
import { uuidv7 } from "uuidv7";
import { checkEndpointUrl } from "./check-endpoint-url.ts";
import { checkEventPrefix } from "./event-prefixes.ts";
import { sealSecret } from "./secret-box.ts";
import { assertWebhookSecret, createWebhookSecret } from "./webhook-secret.ts";

export interface NewWebhookEndpoint {
  readonly tenantId: string;
  /** Absolute, http or https, without credentials. Whether its address may be reached is decided at each delivery. */
  readonly url: string;
  /** Event types it receives, whole segments: `webhook.invoice` takes `webhook.invoice.paid`. Empty takes all. */
  readonly eventPrefixes: readonly string[];
  /** Default: a new one. */
  readonly secret?: string;
  /** 32 bytes in base64; the `WEBHOOK_SECRETS_KEY` of the workers. */
  readonly secretsKey: string;
}

/**
 * Registers an endpoint, in the caller's transaction. The secret is given back this once; it is stored encrypted.
 * @throws CodedError `HTTP.BAD_URL`, `WEBHOOK.SECRET`, `PUBLISH.EVENT_TYPE` for a malformed prefix.
 */
export async function createWebhookEndpoint(
  tx: Prisma.TransactionClient,
  endpoint: NewWebhookEndpoint,
): Promise<{ id: string; secret: string }> {
  const id = uuidv7();
  const secret = assertWebhookSecret(endpoint.secret ?? createWebhookSecret());
  await tx.webhookEndpoint.create({
    data: {
      id,
      tenantId: endpoint.tenantId,
      url: checkEndpointUrl(endpoint.url),
      eventPrefixes: endpoint.eventPrefixes.map(checkEventPrefix),
      secrets: [sealSecret(secret, id, endpoint.secretsKey)],
    },
  });
  return { id, secret };
}
