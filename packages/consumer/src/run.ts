import { createGroupedReceipts } from "@toolctrl/db/receipts";
import { errorCodeOf } from "@toolctrl/foundation/errors";
import type { DeliveredJob, JobOutcome, QueueWorker } from "@toolctrl/queue/port";
import type { ConsumerContext } from "./context.ts";
import type { Consumer } from "./define.ts";
import { deliver, type DeliveryEnd } from "./deliver.ts";
import { inDeliverySpan } from "./delivery-span.ts";
import { createOutagePause } from "./outage-pause.ts";
import { recordDeath } from "./record-death.ts";

export interface RunningConsumers {
  /** Takes no new job; waits for running ones up to `graceMs`, then forces. Idempotent. */
  close(graceMs: number): Promise<void>;
}

/**
 * Runs consumers: each job under its consumer's idempotency claim, with its receipt.
 *
 * - `done`: receipt, cached result. A duplicate is suppressed, counted and passed on.
 * - `retry`, `snooze`, `cancel` and thrown errors release the claim; they are no results.
 * - in progress elsewhere: snoozed until that claim ends, no attempt used.
 * - store away: retried, never run without a claim.
 * - database away or read-only: snoozed for about ten seconds, no attempt used, unless the handler may have brought it down.
 *
 * @throws TypeError when two consumers ask for the same queue: they would take each other's jobs.
 */
export function startConsumers(
  options: Omit<ConsumerContext, "receipts" | "outagePause"> & { consumers: readonly Consumer[] },
): RunningConsumers {
  const { consumers, ...rest } = options;
  const context: ConsumerContext = {
    ...rest,
    receipts: createGroupedReceipts(rest.pool),
    outagePause: createOutagePause(rest.pool),
  };
  assertOneConsumerPerQueue(consumers);
  const workers = consumers.map((consumer) => startConsumer(consumer, context));
  return {
    async close(graceMs) {
      await Promise.all(workers.map((worker) => worker.close(graceMs)));
    },
  };
}

function startConsumer(consumer: Consumer, context: ConsumerContext): QueueWorker {
  return context.backend.work(consumer.queue, (job) => handleJob(consumer, job, context), {
    concurrency: consumer.concurrency,
    onDead: (job, error) => recordDeath(consumer, job, error, context),
    onStalled: ({ queue }) => context.metrics.add("queue_stalled_total", 1, { queue }),
  });
}

async function handleJob(consumer: Consumer, job: DeliveredJob, context: ConsumerContext): Promise<JobOutcome> {
  return inDeliverySpan(consumer, job, async () => {
    const startedAt = performance.now();
    const end = await deliver(consumer, job, context);
    context.metrics.observe("outbox_consumer_seconds", (performance.now() - startedAt) / 1000, {
      consumer: consumer.name,
    });
    report(consumer, job, end, context);
    return end;
  });
}

function report(consumer: Consumer, job: DeliveredJob, end: DeliveryEnd, context: ConsumerContext): void {
  const { outcome, duplicate, envelope } = end;
  const label = duplicate ? "duplicate" : outcome.kind;
  context.metrics.add("outbox_consumer_deliveries_total", 1, {
    consumer: consumer.name,
    outcome: label,
  });
  if (duplicate) context.metrics.add("outbox_duplicates_suppressed_total", 1, { consumer: consumer.name });
  const facts = {
    consumer: consumer.name,
    jobId: job.id,
    eventId: envelope?.outboxEventId,
    failures: job.failures,
    outcome: label,
  };
  if (outcome.kind === "retry" || outcome.kind === "cancel") {
    context.log.warn({ ...facts, code: errorCodeOf(outcome.error), err: outcome.error }, "delivery failed");
  } else {
    context.log.debug(facts, "delivery ended");
  }
}

function assertOneConsumerPerQueue(consumers: readonly Consumer[]): void {
  const seen = new Map<string, string>();
  for (const { name, queue } of consumers) {
    const other = seen.get(queue);
    if (other !== undefined) throw new TypeError(`expected one consumer per queue, got ${other} and ${name} on ${queue}`);
    seen.set(queue, name);
  }
}
