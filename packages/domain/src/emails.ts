/** Mails: from an event's payload to a rendered row and its recipients' states. */
export { copyEmailToEpoch, insertEmail, messageIdOf, type EmailIdentity } from "./emails/insert-email.ts";
export { loadEmail, type DeliveryState, type StoredEmail } from "./emails/load-email.ts";
export { parseAddress } from "./emails/parse-address.ts";
export { markDeliveriesUnknown, recordDeliveries, reopenRejectedDeliveries, type RecipientOutcome } from "./emails/record-deliveries.ts";
export { renderMail, type RenderedMail } from "./emails/render-mail.ts";
