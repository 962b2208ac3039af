export type { OutboxEventInput, PublishedEvent } from "./outbox-event-input.ts";
export { assertOutboxTransaction, outboxTransactionOf, type OutboxTransaction } from "./outbox-transaction.ts";
export { MAX_EVENTS_PER_PUBLISH, publishOutboxEvent, publishOutboxEvents } from "./publish-outbox-event.ts";
