/** Marketing contacts: what is known of a person, what may be sent, and what the provider still has to be told. */
export { applyContactEvent } from "./marketing/apply-contact-event.ts";
export { beginContactCall, type ContactCall } from "./marketing/begin-contact-call.ts";
export type { Consent, MarketingContact, ProviderStatus } from "./marketing/contact.ts";
export { contactEventOf, type ContactEvent } from "./marketing/contact-event.ts";
export { emailKeyOf } from "./marketing/email-key.ts";
export { lockContactOf } from "./marketing/lock-contact.ts";
export { settleContactCall, type ContactCallEnd } from "./marketing/settle-contact-call.ts";
export { liftSuppression, suppressContact, type NewSuppression, type SuppressionKey } from "./marketing/suppress-contact.ts";
