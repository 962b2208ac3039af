import { EXECUTOR_KINDS } from "@toolctrl/foundation/workflows";
import { optionalChoice, optionalText, type EnvRule } from "@toolctrl/runtime/env";

/** The two settings that the web app and the workers share; what each is for is said by the program. */
export function executorFields(about: { readonly executor: string; readonly secret: string }) {
  return {
    WORKFLOW_EXECUTOR: optionalChoice({ values: EXECUTOR_KINDS, about: about.executor }),
    WORKFLOW_BRIDGE_SECRET: optionalText({
      pattern: /^[\x21-\x7e]{32,200}$/,
      accepts: "32 to 200 characters without blanks",
      about: about.secret,
    }),
  };
}

/** Guessed differently by the web app than by the workers, runs would be rejected that they could do, or taken that they cannot. */
export const EXECUTOR_RULE: EnvRule = {
  names: ["NODE_ENV", "WORKFLOW_EXECUTOR"],
  check: (values) =>
    values["NODE_ENV"] === "production" && values["WORKFLOW_EXECUTOR"] === undefined
      ? `WORKFLOW_EXECUTOR: expected ${EXECUTOR_KINDS.join(", ")} with NODE_ENV=production, got none`
      : null,
};

/** What has to be set where the web app runs runs, by whoever has a part in it: else the runs would go to a bridge that is not there. */
export function bridgeRule(settings: readonly string[]): EnvRule {
  return {
    names: ["WORKFLOW_EXECUTOR", ...settings],
    check(values) {
      const executor = values["WORKFLOW_EXECUTOR"];
      if (executor !== "http" && executor !== "hybrid") return null;
      const missing = settings.find((name) => values[name] === undefined);
      return missing === undefined ? null : `${missing}: expected a value with WORKFLOW_EXECUTOR=${executor}, got none`;
    },
  };
}
