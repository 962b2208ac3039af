import { createWebhookEndpoint, verifyWebhook } from "@toolctrl/domain/webhook-endpoints";
import { startHttpPeer, type HttpPeer, type ReceivedRequest } from "@toolctrl/testkit/http-peer";
import { createHarness, SECRETS_KEY, TENANT, type Harness } from "./harness.ts";

export const TYPE = "webhook.invoice.paid";
export const PAYLOAD = { invoice: 7, note: "ünïcödé \u2028 & <b>" };

export async function addEndpoint(
  harness: Harness,
  url: string,
  eventPrefixes: string[] = [],
  tenantId = TENANT,
): Promise<{ id: string; secret: string }> {
  return harness.database.prisma.$transaction((tx) => createWebhookEndpoint(tx, { tenantId, url, eventPrefixes, secretsKey: SECRETS_KEY }));
}

export async function startWebhooks(
  overrides: Parameters<Harness["webhookDeliver"]>[1] = {},
): Promise<{ harness: Harness; peer: HttpPeer }> {
  const harness = await createHarness();
  const peer = await startHttpPeer();
  harness.start(harness.webhookDeliver([peer.port], overrides));
  return { harness, peer };
}

export function verifies(request: ReceivedRequest, secret: string): boolean {
  return verifyWebhook({ secret, headers: request.headers, body: request.body });
}
