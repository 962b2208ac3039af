import { createAlerts } from "@toolctrl/runtime/alerts";
import { createDatabase } from "@toolctrl/db/client";
import { envOrExit } from "@toolctrl/runtime/env";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { startHealthServer } from "@toolctrl/runtime/health";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { openTracing } from "@toolctrl/runtime/open-tracing";
import { runAsProgram, runUntilSignal, together } from "@toolctrl/runtime/run";
import { createExecutionsService } from "@toolctrl/workflow/executions";
import { createServer } from "./create-server.ts";
import { createCredentialSource } from "./credentials/create-credential-source.ts";
import { readEnv } from "./env.ts";
import { listen } from "./listen.ts";
import { createRunsHere } from "./runs-here.ts";
import { bridgeOf, databaseOptions, healthOptions, streamLimits } from "./settings.ts";
import { createStreams } from "./streams.ts";

const APP = "web";

/** The whole app, from its environment to the signal that ends it. */
function runWeb(): Promise<never> {
  const env = envOrExit(readEnv);
  const log = createLogger({ app: APP, level: env.LOG_LEVEL });
  return runUntilSignal(
    async (scope) => {
      const metrics = createMetrics();
      scope.add("tracing", await openTracing(env, APP, log));
      const alerts = scope.add("alerts", createAlerts({ dsn: env.SENTRY_DSN, app: APP, log }));
      const database = scope.add("database", await createDatabase(databaseOptions(env, APP, { log, metrics })));
      const http = scope.add("http", createGuardedHttp({ allow: env.OUTBOUND_HTTP_ALLOW?.split(",") ?? [] }));
      const { pool } = database;

      const credentialsKey = env.WORKFLOW_CREDENTIALS_KEY ?? null;
      const credentials = credentialsKey === null ? null : createCredentialSource(credentialsKey);
      const runner = { pool, http, credentials, log };
      const service = createExecutionsService({ pool, executor: env.WORKFLOW_EXECUTOR ?? "native", runner });
      const runs = createRunsHere();
      const streams = createStreams(streamLimits(env), { service, runs, metrics });
      const bridge = bridgeOf(env, { runner, runs });
      const server = createServer({ database, service, streams, credentialsKey, bridge, metrics, alerts, log });

      scope.add("health", await startHealthServer(healthOptions(env, { database, metrics, log, isDraining: scope.isStopping })));
      scope.add("work", together(runs, await listen(server, { host: env.WEB_HOST, port: env.WEB_PORT, log })));
    },
    { graceMs: env.SHUTDOWN_GRACE_MS, log },
  );
}

runAsProgram(import.meta, runWeb);
