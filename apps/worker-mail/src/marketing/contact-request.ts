import type { CallRequest } from "@toolctrl/consumer/external-call";
import type { MarketingContact, ProviderStatus } from "@toolctrl/domain/marketing";

/** Where contacts are told, and with what. */
export interface MarketingProvider {
  /** Contacts are below it, at `contacts/<id>`. */
  readonly url: string;
  readonly token: string;
}

/** Of an answer only an id is used. */
const MAX_RESPONSE_BYTES = 16 * 1024;

/**
 * The request that tells the provider of a contact; the same bytes for the same state. The address is in the body alone: paths end up in logs.
 * Of a person who is not subscribed the provider gets nothing but what it needs to leave them alone.
 */
export function contactRequest(
  provider: MarketingProvider,
  { contact, status, key }: { contact: MarketingContact; status: ProviderStatus; key: string },
): CallRequest {
  const url = new URL(provider.url);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/contacts/${contact.id}`;
  const { tenantId: tenant, email, revision, name, attributes, consentAt, consentSource } = contact;
  const always = { tenant, email, status, revision: Number(revision) };
  const subscribed = { name, attributes, consent: { at: consentAt?.toISOString(), source: consentSource } };
  return {
    url: url.href,
    method: "PUT",
    headers: {
      authorization: `Bearer ${provider.token}`,
      "content-type": "application/json",
      "idempotency-key": key,
      "user-agent": "Toolctrl-Outbox/1",
    },
    body: JSON.stringify(status === "subscribed" ? { ...always, ...subscribed } : always),
    maxResponseBytes: MAX_RESPONSE_BYTES,
  };
}
