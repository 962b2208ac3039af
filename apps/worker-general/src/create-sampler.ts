import type { Database } from "@toolctrl/db/client";
import { ROUTES } from "@toolctrl/event-router/router";
import { describeError } from "@toolctrl/foundation/errors";
import { QUEUE_NAMES, type QueueName } from "@toolctrl/foundation/queues";
import {
  BLOCK_CAUSES,
  countBlockedLines,
  countHeld,
  createReceiptLag,
  listLiveProcesses,
  readDueEvents,
  readOldestSnapshot,
  type ReadReceiptLag,
} from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { countRuns } from "@toolctrl/workflow/executions";

export interface SamplerDeps {
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Makes what takes one sample: it reads the tables and the depths of the queues, and sets the gauges. It never rejects. */
export function createSampler(deps: SamplerDeps): () => Promise<void> {
  const { database, metrics, log } = deps;
  const receiptLag = createReceiptLag(database.pool, ROUTES);
  const tables: Readonly<Record<string, () => Promise<void>>> = {
    "the backlog": () => sampleBacklog(deps),
    "blocked lines": () => sampleBlockedLines(deps),
    "held events": () => sampleHeld(deps),
    receipts: () => sampleReceipts(deps, receiptLag),
    "live processes": () => sampleProcesses(deps),
    "workflow runs": () => sampleRuns(deps),
    "the oldest snapshot": () => sampleSnapshot(deps),
  };
  return async () => {
    const read = [];
    for (const [what, sample] of Object.entries(tables)) read.push(await attempt(log, what, sample));
    // Gauges keep what they held through an outage; that it is old has to be seen.
    if (read.every(Boolean)) metrics.set("outbox_sampled_timestamp_seconds", Math.floor(Date.now() / 1000));
    for (const queue of QUEUE_NAMES) await attempt(log, queue, () => sampleQueue(deps, queue));
  };
}

async function sampleBacklog({ database, metrics }: SamplerDeps): Promise<void> {
  const { due, overdue, oldestSeconds } = await readDueEvents(database.pool);
  metrics.set("outbox_backlog", due);
  metrics.set("outbox_overdue_events", overdue);
  metrics.set("outbox_oldest_pending_seconds", oldestSeconds);
}

async function sampleBlockedLines({ database, metrics }: SamplerDeps): Promise<void> {
  const counts = await countBlockedLines(database.pool);
  for (const state of BLOCK_CAUSES) metrics.set("outbox_blocked_lines", counts[state], { state });
}

async function sampleHeld({ database, metrics }: SamplerDeps): Promise<void> {
  metrics.set("outbox_held_events", await countHeld(database.pool));
}

async function sampleReceipts({ metrics }: SamplerDeps, readLag: ReadReceiptLag): Promise<void> {
  const seconds = await readLag();
  if (seconds !== null) metrics.set("outbox_receipt_lag_seconds", seconds);
}

/** A queue says of the jobs in a dead worker's hands that they run, until another one takes them away; the register says that there is none. */
async function sampleProcesses({ database, metrics }: SamplerDeps): Promise<void> {
  const processes = await listLiveProcesses(database.pool);
  for (const queue of QUEUE_NAMES)
    metrics.set("queue_processes", processes.filter(({ queues }) => queues.includes(queue)).length, { queue });
}

async function sampleRuns({ database, metrics }: SamplerDeps): Promise<void> {
  const { open, ended, oldestQueuedSeconds } = await countRuns(database.pool);
  for (const [state, runs] of Object.entries(open)) metrics.set("workflow_runs", runs, { state });
  for (const [state, runs] of Object.entries(ended)) metrics.set("workflow_runs_ended", runs, { state });
  metrics.set("workflow_oldest_queued_seconds", oldestQueuedSeconds);
}

async function sampleSnapshot({ database, metrics }: SamplerDeps): Promise<void> {
  metrics.set("database_oldest_snapshot_seconds", await readOldestSnapshot(database.pool));
}

async function sampleQueue({ backend, metrics }: SamplerDeps, queue: QueueName): Promise<void> {
  const counts = await backend.counts(queue);
  for (const state of ["waiting", "active", "delayed", "failed"] as const) metrics.set("queue_jobs", counts[state], { queue, state });
}

/** An outage is told by readiness; a sample that fails leaves the last one standing. @returns whether it was taken. */
async function attempt(log: Logger, what: string, read: () => Promise<void>): Promise<boolean> {
  try {
    await read();
    return true;
  } catch (error) {
    log.debug({ what, error: describeError(error) }, "could not sample");
    return false;
  }
}
