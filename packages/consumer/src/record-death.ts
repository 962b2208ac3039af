import { setTimeout as delay } from "node:timers/promises";
import { isDatabaseAway } from "@toolctrl/db/client";
import { recordDead } from "@toolctrl/db/receipts";
import { CodedError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import type { Consumer } from "./define.ts";
import { parseJob } from "./parse-job.ts";
import { effectiveEpoch, receiptName } from "./receipt-name.ts";
import type { ConsumerContext } from "./context.ts";

/** Between tries at the receipt: a server that the job has brought down is back in a moment. */
const PAUSES_MS = [300, 1_000, 3_000, 5_000, 10_000];

/** Writes down that a job will not run again by itself: receipt `dead`, what its consumer adds, metric, log, alert. Never throws. */
export async function recordDeath(
  consumer: Consumer,
  job: { id: string; data: unknown },
  error: Error,
  context: ConsumerContext,
): Promise<void> {
  const code = errorCodeOf(error);
  context.metrics.add("queue_dead_total", 1, { queue: consumer.queue });
  const envelope = envelopeOf(job.data);
  const facts = {
    consumer: consumer.name,
    queue: consumer.queue,
    jobId: job.id,
    eventId: envelope?.outboxEventId ?? null,
    code,
  };
  context.log.error({ ...facts, err: error }, "job is dead; requeue the event after mending the cause");
  // The message may name recipients; alerts leave the house.
  context.alerts.error(
    new CodedError("RECEIVER.DEAD", `expected ${consumer.name} to finish its job, got ${code}`, {
      facts: { code },
    }),
    facts,
  );
  if (envelope === undefined) return;
  const { outboxEventId: eventId, tenantId, generation } = envelope;
  const { effectEpoch } = effectiveEpoch(envelope, consumer.name);
  try {
    const receipt = { eventId, tenantId, consumer: receiptName(consumer.name, envelope), effectEpoch, generation, error };
    await onceBack(context.pool, () => recordDead(context.pool, receipt));
    await consumer.onDead?.({ eventId, tenantId, effectEpoch, envelope, error });
  } catch (cause) {
    context.log.error({ ...facts, err: cause }, "receipt of a dead job could not be written; the failed job itself stays in the queue");
  }
}

function envelopeOf(data: unknown): JobEnvelope | undefined {
  try {
    return parseJob(data);
  } catch {
    // A job without an envelope belongs to no event: there is nothing to write a receipt for.
    return undefined;
  }
}

/** Writing it twice is harmless. A process that ends does not wait: its pool answers nobody any more. */
async function onceBack(pool: ConsumerContext["pool"], write: () => Promise<void>): Promise<void> {
  for (const pauseMs of PAUSES_MS) {
    try {
      return await write();
    } catch (error) {
      if (!isDatabaseAway(error) || pool.ending) throw error;
      await delay(pauseMs);
    }
  }
  await write();
}
