/** Webhook endpoints of tenants: registration, secrets, signing, verifying. */
export { createWebhookEndpoint, type NewWebhookEndpoint } from "./webhook-endpoints/create-webhook-endpoint.ts";
export {
  disableWebhookEndpoint,
  findSubscribedEndpoints,
  loadWebhookTarget,
  openWebhookSecrets,
  type WebhookTarget,
} from "./webhook-endpoints/find-endpoints.ts";
export { enableWebhookEndpoint, listWebhookEndpoints, type WebhookEndpointView } from "./webhook-endpoints/list-webhook-endpoints.ts";
export { rotateWebhookSecret, type SecretRotation } from "./webhook-endpoints/rotate-webhook-secret.ts";
export { signedRequest } from "./webhook-endpoints/signed-request.ts";
export { signWebhook } from "./webhook-endpoints/sign-webhook.ts";
export { webhookBody } from "./webhook-endpoints/webhook-body.ts";
export { verifyWebhook, type WebhookToVerify } from "./webhook-endpoints/verify-webhook.ts";
