export type { EventCause, OutboxEventInput, PublishedEvent } from "./outbox-event-input.ts";
export {
  assertOutboxTransaction,
  eventCauseOf,
  outboxTransactionOf,
  withEventCause,
  type OutboxTransaction,
  type RawTransaction,
} from "./outbox-transaction.ts";
export { MAX_EVENTS_PER_PUBLISH, publishOutboxEvent, publishOutboxEvents } from "./publish-outbox-event.ts";
