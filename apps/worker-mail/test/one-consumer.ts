// The consumer CONSUMER of this app, in a process of its own.
import { runOneConsumer } from "@toolctrl/consumer-testkit/one-consumer";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { allowedTargets } from "../src/settings.ts";

const { CONSUMER = "", ...source } = process.env;
const env = readEnv(source);
runOneConsumer(env, CONSUMER, ({ scope, ...deps }) => {
  const http = scope.add("http", createGuardedHttp({ allow: allowedTargets(env) }));
  return createConsumers(env, { ...deps, http });
});
