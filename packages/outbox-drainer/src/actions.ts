export { cancelEvents, type CancelRequest } from "./actions/cancel-events.ts";
export { requeueEvents, type RequeueRequest } from "./actions/requeue-events.ts";
export type { ActionReport, EventOutcome } from "./actions/event-outcome.ts";
export { OUTBOX_STATUSES, type EventFilter, type OutboxStatus } from "./actions/event-filter.ts";
export { pickMatchingEvents, type PickCursor } from "./actions/pick-matching-events.ts";
export { previewMatchingEvents, type MatchPreview } from "./actions/preview-matching-events.ts";
export { listDoneReceipts, type DoneReceipt } from "./actions/list-done-receipts.ts";
export { readEventStates, type EventState } from "./actions/read-event-states.ts";
export { databaseNow } from "./actions/database-now.ts";
