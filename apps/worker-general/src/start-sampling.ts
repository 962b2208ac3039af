import type { Database } from "@toolctrl/db/client";
import { describeError } from "@toolctrl/foundation/errors";
import { QUEUE_NAMES, type QueueName } from "@toolctrl/foundation/queues";
import { BLOCK_CAUSES, countBlockedLines, countHeld, readBacklog } from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { Closable } from "@toolctrl/runtime/run";

const SAMPLE_MS = 15_000;

export interface SamplingDeps {
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Reads the backlog and the queues' depths now and then, so that a scrape of the metrics asks no server. One sample at a time. */
export function startSampling(deps: SamplingDeps): Closable {
  let running: Promise<void> | undefined;
  const run = (): void => {
    running ??= sample(deps).finally(() => (running = undefined));
  };
  run();
  const timer = setInterval(run, SAMPLE_MS);
  return {
    close() {
      clearInterval(timer);
      // A sample that still runs ends within the bounds of its own calls, and nobody reads it.
      return Promise.resolve();
    },
  };
}

async function sample(deps: SamplingDeps): Promise<void> {
  await attempt(deps.log, "the backlog", () => sampleBacklog(deps));
  await attempt(deps.log, "blocked lines", () => sampleBlockedLines(deps));
  await attempt(deps.log, "held events", () => sampleHeld(deps));
  for (const queue of QUEUE_NAMES) await attempt(deps.log, queue, () => sampleQueue(deps, queue));
}

async function sampleBacklog({ database, metrics }: SamplingDeps): Promise<void> {
  const { due, oldestDueSeconds } = await readBacklog(database.pool);
  metrics.set("outbox_backlog", due);
  metrics.set("outbox_oldest_pending_seconds", oldestDueSeconds ?? 0);
}

async function sampleBlockedLines({ database, metrics }: SamplingDeps): Promise<void> {
  const counts = await countBlockedLines(database.pool);
  for (const state of BLOCK_CAUSES) metrics.set("outbox_blocked_lines", counts[state], { state });
}

async function sampleHeld({ database, metrics }: SamplingDeps): Promise<void> {
  metrics.set("outbox_held_events", await countHeld(database.pool));
}

async function sampleQueue({ backend, metrics }: SamplingDeps, queue: QueueName): Promise<void> {
  const counts = await backend.counts(queue);
  for (const state of ["waiting", "active", "delayed", "failed"] as const) metrics.set("queue_jobs", counts[state], { queue, state });
}

/** An outage is told by readiness; a sample that fails leaves the last one standing. */
async function attempt(log: Logger, what: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    log.debug({ what, error: describeError(error) }, "could not sample");
  }
}
