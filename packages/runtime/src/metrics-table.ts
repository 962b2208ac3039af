/** Label names a metric may have. None may hold a tenant, an event or a record: their number has no bound. */
export const METRIC_LABELS = ["outcome", "source", "consumer", "queue", "state", "code", "mode"] as const;
export type MetricLabel = (typeof METRIC_LABELS)[number];

type Declaration = {
  readonly kind: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly MetricLabel[];
  readonly buckets?: readonly number[];
};

const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60];

/** Every metric of the product. */
export const METRICS = {
  outbox_claims_total: { kind: "counter", help: "Events claimed", labels: [] },
  outbox_reclaims_total: { kind: "counter", help: "Events claimed again after their lease expired", labels: [] },
  outbox_handoffs_total: { kind: "counter", help: "Jobs added for events", labels: ["queue"] },
  outbox_handoff_errors_total: { kind: "counter", help: "Jobs that could not be added", labels: ["queue", "code"] },
  outbox_settles_total: { kind: "counter", help: "Claims ended", labels: ["outcome"] },
  outbox_retries_total: { kind: "counter", help: "Events put back for a later try", labels: [] },
  outbox_dead_total: { kind: "counter", help: "Events that ended in FAILED", labels: ["code"] },
  outbox_unroutable_total: { kind: "counter", help: "Events no routing rule matched", labels: [] },
  outbox_lease_lost_total: { kind: "counter", help: "Settles refused because the claim was no longer ours", labels: [] },
  outbox_wakeups_total: { kind: "counter", help: "What made the drainer look", labels: ["source"] },
  outbox_tick_seconds: { kind: "histogram", help: "Time of one pass of a drainer tick", labels: [], buckets: SECONDS },
  outbox_tick_errors_total: { kind: "counter", help: "Drainer ticks that ended in an error", labels: ["code"] },
  outbox_backlog: { kind: "gauge", help: "Events due and not yet claimed, as last sampled", labels: [] },
  outbox_overdue_events: {
    kind: "gauge",
    help: "Events that have been due for more than 60 s, under pull workers but for those behind a record that is parked, held or backing off, as last sampled",
    labels: [],
  },
  outbox_oldest_pending_seconds: {
    kind: "gauge",
    help: "Age of the oldest due event, under pull workers of those behind no record that is parked, held or backing off, as last sampled",
    labels: [],
  },
  outbox_receipt_lag_seconds: {
    kind: "gauge",
    help: "How long ago the oldest event was handed off that a consumer of its route has neither finished nor given up on, as last sampled; 0 for none older than 10 s, and after a start until it has been looked for",
    labels: [],
  },
  outbox_sampled_timestamp_seconds: {
    kind: "gauge",
    help: "When the database was last sampled without an error, seconds since 1970; 0 in a process that samples nothing",
    labels: [],
  },
  outbox_blocked_lines: {
    kind: "gauge",
    help: "Records whose events wait for an older one, by why it holds them (parked, held, backoff, in-flight), as last sampled; 1000 of each at most",
    labels: ["state"],
  },
  outbox_held_events: {
    kind: "gauge",
    help: "Events that pull workers have put off because their route is held, or behind one of those, as last sampled; 100,000 at most",
    labels: [],
  },
  outbox_shadow_events_total: {
    kind: "counter",
    help: "Due events the dispatcher would claim next, by what pull workers would do with them: claim, or hold for the reason named",
    labels: ["outcome"],
  },
  outbox_retention_deleted_total: { kind: "counter", help: "Rows deleted by retention", labels: ["source"] },
  outbox_retention_kept: { kind: "gauge", help: "Old DONE events kept because a receipt is missing", labels: [] },
  outbox_reconciled_total: { kind: "counter", help: "Handed-off events whose job was lost and was added again", labels: [] },
  outbox_unfinished: {
    kind: "gauge",
    help: "Events that were handed off and not finished, and whose jobs are alive, as the last look for lost ones saw them",
    labels: [],
  },
  outbox_consumer_deliveries_total: { kind: "counter", help: "Deliveries to consumers", labels: ["consumer", "outcome"] },
  outbox_consumer_seconds: { kind: "histogram", help: "Time of one delivery", labels: ["consumer"], buckets: SECONDS },
  outbox_duplicates_suppressed_total: { kind: "counter", help: "Deliveries whose effect was there already", labels: ["consumer"] },
  outbox_outcome_unknown_total: { kind: "counter", help: "External effects whose answer was lost", labels: ["consumer"] },
  queue_dead_total: { kind: "counter", help: "Jobs that will not run again by themselves", labels: ["queue"] },
  queue_stalled_total: { kind: "counter", help: "Jobs taken from a worker that had died or lost them", labels: ["queue"] },
  queue_jobs: { kind: "gauge", help: "Jobs by state, as last sampled", labels: ["queue", "state"] },
  queue_processes: { kind: "gauge", help: "Live processes that work the queue, as last sampled", labels: ["queue"] },
  workflow_runs: {
    kind: "gauge",
    help: "Runs that have not ended (queued, running, waiting), as last sampled; 100,000 of each at most",
    labels: ["state"],
  },
  workflow_runs_ended: {
    kind: "gauge",
    help: "Runs that ended in the last hour (success, error, rejected, skipped, cancelled), as last sampled; 100,000 of each at most",
    labels: ["state"],
  },
  workflow_oldest_queued_seconds: { kind: "gauge", help: "Age of the oldest run that nobody has begun, as last sampled", labels: [] },
  database_pool_wait_seconds: {
    kind: "histogram",
    help: "Time that callers waited for a connection where none was idle, the opening of one included",
    labels: [],
    buckets: SECONDS,
  },
  database_oldest_snapshot_seconds: {
    kind: "gauge",
    help: "Age of the oldest transaction that keeps VACUUM from removing dead rows, prepared ones included, as last sampled",
    labels: [],
  },
  web_requests_total: { kind: "counter", help: "Requests that the web server has answered, by status", labels: ["code"] },
  web_streams: { kind: "gauge", help: "Streamed runs that the process executes", labels: [] },
  drainer_mode: { kind: "gauge", help: "1 for the drainer this process runs", labels: ["mode"] },
} as const satisfies Record<string, Declaration>;

export type MetricName = keyof typeof METRICS;
export type MetricOfKind<Kind extends Declaration["kind"]> = {
  [Name in MetricName]: (typeof METRICS)[Name]["kind"] extends Kind ? Name : never;
}[MetricName];
/** The labels a metric must be given. */
export type LabelsOf<Name extends MetricName> = Record<(typeof METRICS)[Name]["labels"][number], string>;
