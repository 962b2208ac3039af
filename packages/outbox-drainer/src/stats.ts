export { outboxStats, type OutboxStats, type QueueStats } from "./stats/outbox-stats.ts";
export { traceEvent, type EventTrace, type TraceStep } from "./stats/trace-event.ts";
export { findEvent, type EventRow } from "./stats/find-event.ts";
export { listEvents, type EventListing } from "./stats/list-events.ts";
export { listBlockedLines, type BlockedLines } from "./lines/list-blocked-lines.ts";
export { countBlockedLines } from "./lines/count-blocked-lines.ts";
export { BLOCK_CAUSES, type BlockCause } from "./lines/block-cause.ts";
export type { BlockedLine } from "./lines/sql/blocked-lines.ts";
export { readBacklog, type Backlog } from "./stats/read-backlog.ts";
