import type { Installation } from "@toolctrl/consumer-testkit/installation";
import type { PluginFunctions } from "@toolctrl/domain/plugins";
import { openHttp } from "@toolctrl/worker/resources";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { openExecutor } from "../src/open-executor.ts";

/** The app's consumers and its executor with these settings, as its main file makes them. Whoever asks closes `http`. */
export function consumersWith(installation: Installation, settings: Record<string, string>, pluginFunctions: PluginFunctions = {}) {
  const { database, backend, metrics, log, appEnv } = installation;
  const env = readEnv({ ...appEnv, ...settings });
  const http = openHttp(env);
  const deps = { pool: database.pool, backend, http, metrics, log, pluginFunctions };
  return { consumers: createConsumers(env, deps), http, ...openExecutor(env, deps) };
}
