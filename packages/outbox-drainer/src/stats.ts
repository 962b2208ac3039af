export { outboxStats, type OutboxStats, type QueueStats } from "./stats/outbox-stats.ts";
export { traceEvent, type EventTrace, type TraceStep } from "./stats/trace-event.ts";
export { findEvent, type EventRow } from "./stats/find-event.ts";
export { listEvents, type EventListing } from "./stats/list-events.ts";
export { readBacklog, type Backlog } from "./stats/read-backlog.ts";
