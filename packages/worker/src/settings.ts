import { describeError } from "@toolctrl/foundation/errors";
import { BACKOFF_MINUTES } from "@toolctrl/outbox-drainer/backoff";
import type { ProcessEntry } from "@toolctrl/outbox-drainer/registry";
import { assertResultTtlCoversHorizon, type RetryHorizonSettings } from "@toolctrl/outbox-receiver/horizon";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { EnvRule } from "@toolctrl/runtime/env";
import type { WorkerEnv } from "./env.ts";

/** For waiting in the queue and slow handlers, s. */
const MARGIN_SECONDS = 600;

type RetryEnv = Pick<
  WorkerEnv,
  "OUTBOX_RESULT_TTL_SECONDS" | "OUTBOX_MAX_RETRIES" | "OUTBOX_LEASE_MS" | "OUTBOX_RECEIVER_ATTEMPTS" | "OUTBOX_RECEIVER_BACKOFF_MS"
>;

/** What a process says of itself in the register of live processes: which app, whether and how it drains, which queues it serves with which consumers. */
export function processEntry(
  env: WorkerEnv,
  backend: QueueBackend,
  self: Pick<ProcessEntry, "app" | "drains" | "blockers"> & {
    readonly consumers: ReadonlyArray<{ readonly name: string; readonly queue: string }>;
    /** Queues that it works without a consumer. */
    readonly otherQueues?: readonly string[];
  },
): ProcessEntry {
  const { consumers, otherQueues = [], ...rest } = self;
  return {
    ...rest,
    consumers: consumers.map(({ name }) => name),
    queues: [...consumers.map(({ queue }) => queue), ...otherQueues],
    vote: env.OUTBOX_PULL_WORKER,
    queueBackend: backend.kind,
    queuePrefix: backend.prefix,
  };
}

/** The settings that the retry horizon is made of; whoever asks for the gate by hand reads the same. */
export function retryHorizonOf(env: RetryEnv): RetryHorizonSettings {
  return {
    resultTtlSeconds: env.OUTBOX_RESULT_TTL_SECONDS,
    dispatcher: { maxRetries: env.OUTBOX_MAX_RETRIES, backoffMinutes: BACKOFF_MINUTES, leaseMs: env.OUTBOX_LEASE_MS },
    queue: { attempts: env.OUTBOX_RECEIVER_ATTEMPTS, backoffMs: env.OUTBOX_RECEIVER_BACKOFF_MS },
    marginSeconds: MARGIN_SECONDS,
  };
}

/**
 * How long the receiver remembers.
 * @throws CodedError `RECEIVER.TTL_TOO_SHORT` when a result would end before the last retry of its event.
 */
export function receiverSettings(env: WorkerEnv): { ttlSeconds: number; claimTtlMs: number } {
  assertResultTtlCoversHorizon(retryHorizonOf(env));
  return { ttlSeconds: env.OUTBOX_RESULT_TTL_SECONDS, claimTtlMs: env.OUTBOX_CLAIM_TTL_MS };
}

/** The same as a problem of the environment, so that it is listed with the others. */
export const RETRY_HORIZON_RULE: EnvRule = {
  names: [
    "OUTBOX_RESULT_TTL_SECONDS",
    "OUTBOX_CLAIM_TTL_MS",
    "OUTBOX_MAX_RETRIES",
    "OUTBOX_LEASE_MS",
    "OUTBOX_RECEIVER_ATTEMPTS",
    "OUTBOX_RECEIVER_BACKOFF_MS",
  ],
  check(values) {
    try {
      receiverSettings(values as WorkerEnv);
      return null;
    } catch (error) {
      return `OUTBOX_RESULT_TTL_SECONDS: ${describeError(error)}`;
    }
  },
};
