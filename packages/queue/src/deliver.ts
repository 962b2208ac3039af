import { assertNever, describeError } from "@toolctrl/foundation/errors";
import type { QueueName } from "@toolctrl/foundation/queues";
import { storableText } from "@toolctrl/foundation/text";
import { DelayedError, UnrecoverableError } from "bullmq";
import type { BullJob, BullProcessor } from "./driver.ts";
import type { DeliveredJob, JobHandler, JobOutcome } from "./port.ts";
import type { RunningJobs } from "./running-jobs.ts";

const MAX_REASON_LENGTH = 1000;
const MAX_STACK_LENGTH = 2000;
const KEPT_STACKS = 3;

/** What BullMQ is given for a failed job. Its name and message decide nothing there, unlike those of an error from a handler. */
class JobFailure extends Error {
  override readonly name = "JobFailure";
}

/** Runs a handler for each job of a queue and tells BullMQ what its outcome means. What a handler returns is never stored. */
export function createProcessor(queue: QueueName, handler: JobHandler, running: RunningJobs): BullProcessor {
  // Two parameters: with a third BullMQ would make a signal of its own, which it forgets when a job is started again in this worker.
  return async (job: BullJob, token?: string): Promise<void> => {
    const { signal, end } = running.start(job.id ?? "");
    try {
      await settle(job, token, await outcomeOf(handler, deliveredJob(job, queue, signal)));
    } finally {
      end();
    }
  };
}

function deliveredJob(job: BullJob, queue: QueueName, signal: AbortSignal): DeliveredJob {
  return {
    id: job.id ?? "",
    queue,
    name: job.name,
    data: job.data,
    failures: job.attemptsMade,
    maxAttempts: job.opts.attempts ?? 1,
    starts: job.attemptsStarted,
    signal,
  };
}

async function outcomeOf(handler: JobHandler, job: DeliveredJob): Promise<JobOutcome> {
  try {
    return checkedOutcome(await handler(job));
  } catch (error) {
    return { kind: "retry", error: error instanceof Error ? error : new Error(describeError(error)) };
  }
}

function checkedOutcome(outcome: JobOutcome): JobOutcome {
  const kind: unknown = (outcome as JobOutcome | undefined)?.kind;
  if (kind !== "done" && kind !== "retry" && kind !== "snooze" && kind !== "cancel") {
    throw new TypeError(`expected the handler to return done, retry, snooze or cancel, got ${JSON.stringify(kind)}`);
  }
  if (outcome.kind === "snooze" && !Number.isFinite(outcome.untilMs))
    throw new TypeError(`expected untilMs to be a time, got ${outcome.untilMs}`);
  return outcome;
}

async function settle(job: BullJob, token: string | undefined, outcome: JobOutcome): Promise<void> {
  switch (outcome.kind) {
    case "done":
      return;
    case "retry":
      // In memory only: this one failure waits as long as was asked, by a type of backoff that BullMQ has built in, and uses an attempt
      // like any other. A custom type would be stored with the job and fail in a worker that does not know it.
      if (outcome.afterMs !== undefined && Number.isFinite(outcome.afterMs)) {
        job.opts.backoff = { type: "fixed", delay: Math.max(0, Math.ceil(outcome.afterMs)) };
      }
      throw failureOf(job, new JobFailure(reasonOf(outcome.error), { cause: outcome.error }));
    case "cancel": {
      const failure = new UnrecoverableError(reasonOf(outcome.error));
      failure.cause = outcome.error;
      throw failureOf(job, failure);
    }
    case "snooze":
      await job.moveToDelayed(outcome.untilMs, token);
      throw new DelayedError();
    default:
      assertNever(outcome);
  }
}

function failureOf(job: BullJob, failure: Error): Error {
  const { stack } = failure.cause as { readonly stack?: unknown };
  // BullMQ on PostgreSQL stores it: one U+0000 in it, and the job could never end.
  failure.stack = storableText(typeof stack === "string" ? stack : failure.message, MAX_STACK_LENGTH);
  job.opts.stackTraceLimit = KEPT_STACKS;
  return failure;
}

function reasonOf(error: Error): string {
  return describeError(error, MAX_REASON_LENGTH);
}
