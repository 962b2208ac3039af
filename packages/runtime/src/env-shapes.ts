import { QUEUE_GROUPS, type QueueGroup } from "@toolctrl/foundation/queues";
import { z } from "zod";
import { choice, clampedInteger, flag, integer, optionalChoice, optionalText, optionalUrl, text, url } from "./env-fields.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const POSTGRES = ["postgres:", "postgresql:"];

/** Every process. */
export const processEnv = {
  NODE_ENV: choice({
    values: ["development", "test", "production"],
    fallback: "development",
    about: "Kind of installation; production asks for an explicit QUEUE_BACKEND",
  }),
  LOG_LEVEL: choice({
    values: ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
    fallback: "info",
    about: "Least level that is logged",
  }),
  HEALTH_HOST: text({
    pattern: /^[0-9A-Za-z.:-]{1,255}$/,
    accepts: "an address or host name",
    fallback: "127.0.0.1",
    about: "Address the health server listens on; 0.0.0.0 lets a scraper of the internal network reach it",
  }),
  HEALTH_PORT: integer({
    min: 0,
    max: 65_535,
    fallback: 0,
    about: "Port of /healthz, /readyz and /metrics; 0 takes a free one and logs it",
  }),
  SHUTDOWN_GRACE_MS: integer({
    min: 100,
    max: 10 * 60 * 1000,
    fallback: 25_000,
    about: "Time (ms) from SIGTERM to exit; keep it below the platform's own grace period",
  }),
  SENTRY_DSN: optionalText({
    pattern: /^https?:\/\/\w+(?::\w+)?@[\w.:[\]-]+(?:\/[\w/-]*)?\/\d+$/,
    accepts: "a Sentry DSN, https://key@host/project",
    about: "Where alerts go; unset sends none",
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: optionalUrl({
    protocols: ["http:", "https:"],
    about: "Base URL of an OTLP collector over HTTP, where traces go; unset traces nothing",
  }),
  OTEL_TRACES_SAMPLER_ARG: text({
    pattern: /^(?:0(?:\.\d{1,6})?|1(?:\.0{1,6})?)$/,
    accepts: "a number from 0 to 1",
    fallback: "1",
    about: "Part of the traces that begin in this process; those that began elsewhere are kept or left as it was decided there",
  }),
};

/** Every process that uses the database. */
export const databaseEnv = {
  DATABASE_URL: url({ protocols: POSTGRES, about: "PostgreSQL, may be a pooler in transaction mode" }),
  DATABASE_DIRECT_URL: optionalUrl({ protocols: POSTGRES, about: "PostgreSQL without a pooler, for LISTEN; unset means DATABASE_URL" }),
  DATABASE_POOL_MAX: integer({ min: 1, max: 500, fallback: 10, about: "Connections of this process's pool" }),
};

/** Every process that adds or runs jobs. */
export const queueEnv = {
  QUEUE_BACKEND: optionalChoice({
    values: ["redis", "postgres"],
    about: "Where BullMQ keeps its jobs; required in production, elsewhere redis when REDIS_URL is set, else postgres",
  }),
  REDIS_URL: optionalUrl({
    protocols: ["redis:", "rediss:", "redis+cluster:", "rediss+cluster:"],
    about: "Redis, for the redis backend; redis+cluster://host:port?node=host:port names nodes of a Redis Cluster",
  }),
  QUEUE_PREFIX: text({
    pattern: /^\{[\w.-]+\}[\w.-]*$/,
    accepts: "a hash-tagged name such as {toolctrl}",
    fallback: "{toolctrl}",
    about: "Prefix of every queue key; the same in every process of an installation",
  }),
  QUEUE_LOCK_MS: integer({
    min: 1000,
    max: 60 * 60 * 1000,
    fallback: 30_000,
    about: "How long (ms) a job stays with a worker that has gone silent; another one then starts it",
  }),
};

/** The drainer. */
export const outboxEnv = {
  OUTBOX_DISPATCHER_ENABLED: flag({ fallback: false, about: "Master switch of the drainer" }),
  OUTBOX_DISPATCH_INTERVAL_MS: integer({ min: 10, max: 60 * 60 * 1000, fallback: 1000, about: "Polling cadence (ms)" }),
  OUTBOX_DISPATCH_BATCH_SIZE: integer({
    min: 1,
    max: 10_000,
    fallback: 100,
    about: "Most events claimed at once; a tick goes on while batches come back full",
  }),
  OUTBOX_DISPATCH_CONCURRENCY: integer({
    min: 1,
    max: 1000,
    fallback: 10,
    about: "Most claimed events added to the queue one by one at a time, when a bulk add had to be taken apart",
  }),
  OUTBOX_MAX_RETRIES: integer({ min: 0, max: 100, fallback: 6, about: "Reported failures an event survives; one more and it is FAILED" }),
  OUTBOX_DONE_RETENTION_HOURS: integer({ min: 1, max: 100 * 366 * 24, fallback: 720, about: "Age (h) at which DONE events are deleted" }),
  OUTBOX_DONE_RETENTION_BATCH_SIZE: clampedInteger({ min: 1, max: 10_000, fallback: 1000, about: "Most rows deleted per retention batch" }),
  OUTBOX_RECONCILE_INTERVAL_MS: integer({
    min: 100,
    max: DAY_MS,
    fallback: 60_000,
    about: "Pause (ms) between two looks for lost jobs; an event is taken for lost this long after its hand-off at the earliest",
  }),
  OUTBOX_WAKEUP: flag({ fallback: true, about: "Whether publishing wakes the drainer at once; off leaves the polling" }),
  OUTBOX_LEASE_MS: integer({
    min: 1000,
    max: DAY_MS,
    fallback: 300_000,
    about: "How long (ms) a claim is respected when its drainer is silent",
  }),
  OUTBOX_CRASH_BUDGET: integer({
    min: 1,
    max: 100,
    fallback: 6,
    about: "Leases an event may lose while claimed alone before it is FAILED",
  }),
  OUTBOX_LOCK_TIMEOUT_MS: integer({
    min: 10,
    max: 60_000,
    fallback: 2000,
    about: "Longest wait (ms) of an attempt for a row lock; the event is then put off for a moment, and that is not counted",
  }),
  OUTBOX_PULL_PARALLELISM: integer({
    min: 1,
    max: 200,
    fallback: 10,
    about: "Pull workers of this process, and attempts at once; the pool gets a connection more for each",
  }),
  OUTBOX_PULL_WORKER: choice({
    values: ["false", "shadow", "true"],
    fallback: "false",
    about:
      "This process's vote on the drainer: pull workers run while every live process that drains votes true and nothing speaks against it; shadow votes against them and compares what they would claim",
  }),
};

/** Every process that runs consumers. */
export const receiverEnv = {
  OUTBOX_RESULT_TTL_SECONDS: integer({
    min: 1,
    max: 366 * 24 * 60 * 60,
    fallback: 86_400,
    about: "How long (s) a finished delivery is remembered; must exceed the whole retry horizon",
  }),
  OUTBOX_CLAIM_TTL_MS: integer({
    min: 100,
    max: 60 * 60 * 1000,
    fallback: 30_000,
    about: "How long (ms) a delivery's claim lives unless renewed",
  }),
  OUTBOX_RECEIVER_ATTEMPTS: integer({ min: 1, max: 100, fallback: 8, about: "Tries of a job before it is dead" }),
  OUTBOX_RECEIVER_BACKOFF_MS: integer({
    min: 1,
    max: DAY_MS,
    fallback: 5000,
    about: "Wait (ms) before the first retry of a job; doubles with each",
  }),
};

/** Every process that calls other people's HTTP servers. */
export const outboundEnv = {
  OUTBOUND_HTTP_ALLOW: optionalText({
    pattern: /^[^\s,]+:\d{1,5}(?:,[^\s,]+:\d{1,5})*$/,
    accepts: "address:port, separated by commas",
    printable: true,
    about: "Addresses that outbound HTTP may reach although they are not public; for development",
  }),
};

/** A worker app's queue group: accepted when it names the app's own, refused otherwise, as the app cannot serve the other's queues. */
export function workerEnv(group: QueueGroup) {
  const schema: z.ZodType<QueueGroup, string> = z
    .enum(QUEUE_GROUPS, { error: `expected one of ${QUEUE_GROUPS.join(", ")}` })
    .refine((value) => value === group, { error: `expected ${group}, the group this app serves` });
  const meta = {
    description: "The worker's queue group; must be the one its app serves",
    accepts: QUEUE_GROUPS.join(", "),
    fallback: group,
    printable: true,
  };
  return { WORKER_QUEUE_GROUP: z.preprocess((value) => (value === undefined ? group : value), schema).meta({ ...meta }) };
}
