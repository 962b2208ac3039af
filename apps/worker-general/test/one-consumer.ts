// The consumer CONSUMER of this app, in a process of its own.
import { runOneConsumer } from "@toolctrl/consumer-testkit/one-consumer";
import { openHttp } from "@toolctrl/worker/resources";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";
import { TEST_FUNCTIONS } from "./test-functions.ts";

runOneConsumer({
  readEnv,
  consumers: (env, { scope, ...deps }) =>
    Object.values(createConsumers(env, { ...deps, http: scope.add("http", openHttp(env)), pluginFunctions: TEST_FUNCTIONS })),
});
