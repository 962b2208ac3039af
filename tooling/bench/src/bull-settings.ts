import type { JobsOptions, QueueOptions, WorkerOptions } from "bullmq";

/** BullMQ's settings of the product, which both sides get: they are BullMQ's work, not ours. */
export const ATTEMPTS = 8;
export const BACKOFF_MS = 5000;
/** Jobs of one `addBulk`: BullMQ's rate is nearly flat from 1000 on. */
export const BULK_SIZE = 1000;

export const JOB_OPTIONS: JobsOptions = { attempts: ATTEMPTS, backoff: { type: "exponential", delay: BACKOFF_MS } };
export const QUEUE_STREAMS: NonNullable<QueueOptions["streams"]> = { events: { maxLen: 1000 } };
export const WORKER_RETENTION: Pick<WorkerOptions, "removeOnComplete" | "removeOnFail"> = {
  removeOnComplete: { age: 86_400, count: 1000 },
  removeOnFail: { age: 30 * 86_400, count: 5000 },
};
