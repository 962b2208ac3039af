import type { Consumer } from "@toolctrl/consumer/define";
import type { App } from "@toolctrl/consumer-testkit/app-process";
import type { Installation } from "@toolctrl/consumer-testkit/installation";
import { CONSUMERS, type ConsumerOf } from "@toolctrl/foundation/consumers";
import { openHttp } from "@toolctrl/worker/resources";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { TEST_FUNCTIONS } from "./test-functions.ts";

/** Ends before the short claims of a test do. */
const SHORT = { PLUGIN_DEADLINE_MS: "1000" };

/** One consumer of the app in a process of its own. */
export function partOf(consumer: ConsumerOf<"general">): App {
  const env = { ...SHORT, CONSUMER: consumer };
  return { main: new URL("./one-consumer.ts", import.meta.url), queues: [CONSUMERS[consumer]], env, hostsLanes: true };
}

/** The maintenance of the app in a process of its own. */
export const MAINTENANCE: App = {
  main: new URL("./maintenance.ts", import.meta.url),
  queues: ["toolctrl.maintenance"],
  // Small batches: what a crash could leave half done lies between two of them.
  env: { OUTBOX_DONE_RETENTION_BATCH_SIZE: "2", OUTBOX_RECONCILE_INTERVAL_MS: "86400000" },
};

/** The app's consumers in this process, made as its main file makes them. */
export function consumersOf({ database, backend, metrics, log, appEnv }: Installation): { consumers: Consumer[]; close(): Promise<void> } {
  const env = readEnv({ ...appEnv, ...SHORT });
  const http = openHttp(env);
  const deps = { pool: database.pool, backend, http, metrics, log, pluginFunctions: TEST_FUNCTIONS };
  return { consumers: Object.values(createConsumers(env, deps)), close: () => http.close() };
}
