import { readRedisUrl } from "@toolctrl/foundation/redis-url";

/** What a rule sees: the values that are valid by themselves. */
export type EnvValues = Readonly<Record<string, unknown>>;

/** A rule over several variables. It is asked only when the schema has all of them and each is valid by itself. */
export interface EnvRule {
  readonly names: readonly string[];
  readonly check: (values: EnvValues) => string | null;
}

export type QueueBackendChoice = { readonly kind: "redis" | "postgres"; readonly why: string };
export type QueueBackendInput = { NODE_ENV: string; QUEUE_BACKEND?: "redis" | "postgres" | undefined; REDIS_URL?: string | undefined };

/** The queue backend the variables ask for, or what is wrong with them. */
export function chooseQueueBackend(env: QueueBackendInput): QueueBackendChoice | { readonly problem: string } {
  if (env.QUEUE_BACKEND === "redis" && env.REDIS_URL === undefined)
    return { problem: "REDIS_URL: expected a value with QUEUE_BACKEND=redis, got none" };
  if (env.QUEUE_BACKEND !== undefined) return { kind: env.QUEUE_BACKEND, why: `QUEUE_BACKEND=${env.QUEUE_BACKEND}` };
  // Two processes of one installation that guess differently split its jobs in two.
  if (env.NODE_ENV === "production") return { problem: "QUEUE_BACKEND: expected redis or postgres with NODE_ENV=production, got none" };
  return env.REDIS_URL === undefined
    ? { kind: "postgres", why: "QUEUE_BACKEND and REDIS_URL are unset" }
    : { kind: "redis", why: "QUEUE_BACKEND is unset and REDIS_URL is set" };
}

export const ENV_RULES: readonly EnvRule[] = [
  {
    names: ["NODE_ENV", "QUEUE_BACKEND", "REDIS_URL"],
    check: (values) => {
      const chosen = chooseQueueBackend({
        NODE_ENV: String(values["NODE_ENV"]),
        QUEUE_BACKEND: values["QUEUE_BACKEND"] === "redis" || values["QUEUE_BACKEND"] === "postgres" ? values["QUEUE_BACKEND"] : undefined,
        REDIS_URL: typeof values["REDIS_URL"] === "string" ? values["REDIS_URL"] : undefined,
      });
      return "problem" in chosen ? chosen.problem : null;
    },
  },
  {
    // A cluster has no numbered databases, and options of a URL reach its clients in no way.
    names: ["REDIS_URL"],
    check: (values) => {
      const address = typeof values["REDIS_URL"] === "string" ? readRedisUrl(values["REDIS_URL"]) : null;
      return address?.kind === "wrong" ? `REDIS_URL: ${address.problem}` : null;
    },
  },
  {
    // A lock wait longer than the lease would outlive its own claim.
    ...lessThan("OUTBOX_LOCK_TIMEOUT_MS", "OUTBOX_LEASE_MS"),
  },
  {
    // A result that is forgotten while its claim may still be live would let the handler run again.
    ...lessThan("OUTBOX_CLAIM_TTL_MS", "OUTBOX_RESULT_TTL_SECONDS", 1000),
  },
];

/** The rule that one number is less than another, which counts `limitScale` times as much. */
export function lessThan(name: string, limit: string, limitScale = 1): EnvRule {
  return {
    names: [name, limit],
    check: (values) => {
      if (Number(values[name]) < Number(values[limit]) * limitScale) return null;
      return `${name}: expected less than ${limit} (${String(values[limit])}), got ${String(values[name])}`;
    },
  };
}
