import { integer, optionalUrl, type EnvRule } from "@toolctrl/runtime/env";
import { bridgeRule, EXECUTOR_RULE, executorFields } from "@toolctrl/workflow/executor-env";

const shared = executorFields({
  executor:
    "Who runs workflows: native is this worker, http the web app over the signed bridge, hybrid the web app only for steps with a stored credential; unset means native, but production asks for it",
  secret: "Signs the requests of the bridge, the same in the web app (openssl rand -base64 32); required with http and hybrid",
});

/** How workflows are run. */
export const workflowEnv = {
  WORKFLOW_EXECUTOR: shared.WORKFLOW_EXECUTOR,
  WORKFLOW_BRIDGE_URL: optionalUrl({
    protocols: ["https:", "http:"],
    about: "Where the web app listens for the bridge, without a path; required with http and hybrid",
  }),
  WORKFLOW_BRIDGE_SECRET: shared.WORKFLOW_BRIDGE_SECRET,
  WORKFLOW_BRIDGE_DEADLINE_MS: integer({
    min: 1000,
    max: 10 * 60 * 1000,
    fallback: 60_000,
    about: "Longest time (ms) of one request of the bridge; a run that takes longer goes on with the next one",
  }),
  WORKFLOW_CONCURRENCY: integer({ min: 1, max: 500, fallback: 10, about: "Workflow runs worked on at the same time" }),
};

export const WORKFLOW_RULES: readonly EnvRule[] = [EXECUTOR_RULE, bridgeRule(["WORKFLOW_BRIDGE_URL", "WORKFLOW_BRIDGE_SECRET"])];
