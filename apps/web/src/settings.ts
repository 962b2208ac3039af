import type { Database, DatabaseOptions } from "@toolctrl/db/client";
import type { HealthOptions } from "@toolctrl/runtime/health";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import type { WebEnv } from "./env.ts";
import type { BridgeDeps } from "./routes/bridge.ts";
import type { StreamLimits } from "./streams.ts";

/** The one pool of the process. */
export function databaseOptions(env: WebEnv, app: string, { log, metrics }: { log: Logger; metrics: Metrics }): DatabaseOptions {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl, DATABASE_POOL_MAX: poolMax, OUTBOX_WAKEUP: wakeup } = env;
  const onPoolWait = (seconds: number): void => metrics.observe("database_pool_wait_seconds", seconds);
  return { url, directUrl, poolMax, app, wakeup, log, onPoolWait };
}

/** Ready when the database answers and the process is not to end. */
export function healthOptions(
  env: WebEnv,
  deps: Pick<HealthOptions, "metrics" | "log" | "isDraining"> & { readonly database: Pick<Database, "ping"> },
): HealthOptions {
  const { database, ...rest } = deps;
  return { host: env.HEALTH_HOST, port: env.HEALTH_PORT, checks: { database: () => database.ping() }, ...rest };
}

export function streamLimits(env: WebEnv): StreamLimits {
  return { max: env.WEB_MAX_STREAMS, maxSeconds: env.WEB_STREAM_MAX_SECONDS };
}

/** Null without a secret: then nothing could be told from a stranger's request. */
export function bridgeOf({ WORKFLOW_BRIDGE_SECRET: secret }: WebEnv, deps: Omit<BridgeDeps, "secret">): BridgeDeps | null {
  return secret === undefined ? null : { secret, ...deps };
}
