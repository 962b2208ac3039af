import { choice, databaseEnv, loadEnv, outboxEnv, processEnv, queueEnv, receiverEnv } from "@toolctrl/runtime/env";
import type { ExecutorKind } from "@toolctrl/foundation/workflows";
import { z } from "zod";

const LOG_LEVEL = choice({
  values: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
  fallback: "warn",
  about: "Least level that is logged, on the error output",
});

/** What every command needs. */
export const cliEnv = z.object({ ...databaseEnv, LOG_LEVEL });
/** What the commands need that look into the queue. */
export const cliQueueEnv = z.object({ ...databaseEnv, ...queueEnv, NODE_ENV: processEnv.NODE_ENV, LOG_LEVEL });

/** What the rollout gate needs besides: what a worker's retry horizon is made of, with the workers' own schema and defaults. */
export const cliGateEnv = z.object({
  ...cliQueueEnv.shape,
  OUTBOX_RESULT_TTL_SECONDS: receiverEnv.OUTBOX_RESULT_TTL_SECONDS,
  OUTBOX_RECEIVER_ATTEMPTS: receiverEnv.OUTBOX_RECEIVER_ATTEMPTS,
  OUTBOX_RECEIVER_BACKOFF_MS: receiverEnv.OUTBOX_RECEIVER_BACKOFF_MS,
  OUTBOX_MAX_RETRIES: outboxEnv.OUTBOX_MAX_RETRIES,
  OUTBOX_LEASE_MS: outboxEnv.OUTBOX_LEASE_MS,
});

/** What `doctor` needs: the same, and how old finished events may become. */
export const cliDoctorEnv = z.object({ ...cliGateEnv.shape, OUTBOX_DONE_RETENTION_HOURS: outboxEnv.OUTBOX_DONE_RETENTION_HOURS });

/** Written down once more: the module that has them makes schemas that no other command needs. */
const EXECUTORS = ["native", "http", "hybrid"] as const satisfies readonly ExecutorKind[];

/** What `workflow run` needs besides: a run that the workers could not do is rejected at once. */
export const cliWorkflowEnv = z.object({
  ...databaseEnv,
  WORKFLOW_EXECUTOR: choice({
    values: EXECUTORS,
    fallback: "native",
    about: "What the installation's workers run workflows with, for `workflow run`: the value they have",
  }),
  LOG_LEVEL,
});

export type CliEnv = z.output<typeof cliEnv>;
export type CliQueueEnv = z.output<typeof cliQueueEnv>;
export type CliGateEnv = z.output<typeof cliGateEnv>;
export type CliDoctorEnv = z.output<typeof cliDoctorEnv>;
export type CliWorkflowEnv = z.output<typeof cliWorkflowEnv>;

type Source = Readonly<Record<string, string | undefined>>;

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliEnv(source: Source = process.env): CliEnv {
  return loadEnv(cliEnv, source);
}

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliQueueEnv(source: Source = process.env): CliQueueEnv {
  return loadEnv(cliQueueEnv, source);
}

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliGateEnv(source: Source = process.env): CliGateEnv {
  return loadEnv(cliGateEnv, source);
}

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliWorkflowEnv(source: Source = process.env): CliWorkflowEnv {
  return loadEnv(cliWorkflowEnv, source);
}

/** @throws CodedError `ENV.INVALID` listing every problem at once. */
export function readCliDoctorEnv(source: Source = process.env): CliDoctorEnv {
  return loadEnv(cliDoctorEnv, source);
}
