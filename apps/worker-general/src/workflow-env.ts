import { integer, optionalChoice, optionalText, optionalUrl, type EnvRule } from "@toolctrl/runtime/env";
import { EXECUTOR_KINDS } from "@toolctrl/foundation/workflows";

/** How workflows are run. */
export const workflowEnv = {
  WORKFLOW_EXECUTOR: optionalChoice({
    values: EXECUTOR_KINDS,
    about:
      "Who runs workflows: native is this worker, http the web app over the signed bridge, hybrid the web app only for steps with a stored credential; unset means native, but production asks for it",
  }),
  WORKFLOW_BRIDGE_URL: optionalUrl({
    protocols: ["https:", "http:"],
    about: "Where the web app listens for the bridge, without a path; required with http and hybrid",
  }),
  WORKFLOW_BRIDGE_SECRET: optionalText({
    pattern: /^[\x21-\x7e]{32,200}$/,
    accepts: "32 to 200 characters without blanks",
    about: "Signs the requests of the bridge, the same in the web app (openssl rand -base64 32); required with http and hybrid",
  }),
  WORKFLOW_BRIDGE_DEADLINE_MS: integer({
    min: 1000,
    max: 10 * 60 * 1000,
    fallback: 60_000,
    about: "Longest time (ms) of one request of the bridge; a run that takes longer goes on with the next one",
  }),
  WORKFLOW_CONCURRENCY: integer({ min: 1, max: 500, fallback: 10, about: "Workflow runs worked on at the same time" }),
};

export const WORKFLOW_RULES: readonly EnvRule[] = [
  {
    names: ["NODE_ENV", "WORKFLOW_EXECUTOR"],
    check: (values) =>
      values["NODE_ENV"] === "production" && values["WORKFLOW_EXECUTOR"] === undefined
        ? `WORKFLOW_EXECUTOR: expected ${EXECUTOR_KINDS.join(", ")} with NODE_ENV=production, got none`
        : null,
  },
  {
    // A worker that takes runs and can have none of them run would only fail where nobody looks.
    names: ["WORKFLOW_EXECUTOR", "WORKFLOW_BRIDGE_URL", "WORKFLOW_BRIDGE_SECRET"],
    check(values) {
      const executor = values["WORKFLOW_EXECUTOR"];
      if (executor !== "http" && executor !== "hybrid") return null;
      const missing = ["WORKFLOW_BRIDGE_URL", "WORKFLOW_BRIDGE_SECRET"].find((name) => values[name] === undefined);
      return missing === undefined ? null : `${missing}: expected a value with WORKFLOW_EXECUTOR=${executor}, got none`;
    },
  },
];
