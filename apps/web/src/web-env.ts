import { EXECUTOR_KINDS } from "@toolctrl/foundation/workflows";
import { integer, optionalChoice, optionalText, text, type EnvRule } from "@toolctrl/runtime/env";

/** Where the web app listens, and what it does of workflows. */
export const webFields = {
  WEB_HOST: text({
    pattern: /^[0-9A-Za-z.:-]{1,255}$/,
    accepts: "an address or host name",
    fallback: "127.0.0.1",
    about: "Address the web server listens on; 0.0.0.0 lets a proxy of another host reach it",
  }),
  WEB_PORT: integer({ min: 0, max: 65_535, fallback: 3000, about: "Port of the web server; 0 takes a free one and logs it" }),
  WORKFLOW_EXECUTOR: optionalChoice({
    values: EXECUTOR_KINDS,
    about:
      "What the installation's workers run workflows with: a run that they could not do is rejected when it is started; unset means native, but production asks for it",
  }),
  WORKFLOW_BRIDGE_SECRET: optionalText({
    pattern: /^[\x21-\x7e]{32,200}$/,
    accepts: "32 to 200 characters without blanks",
    about:
      "Signs the requests of the bridge, the same in worker-general (openssl rand -base64 32); required with http and hybrid, and without it the bridge is not there",
  }),
  WORKFLOW_CREDENTIALS_KEY: optionalText({
    pattern: /^[A-Za-z0-9+/]{43}=$/,
    accepts: "32 bytes in base64",
    about:
      "Encrypts the stored credentials of workflows at rest (openssl rand -base64 32); no other program has it, and without it none can be stored or used",
  }),
  WEB_MAX_STREAMS: integer({
    min: 0,
    max: 1000,
    fallback: 20,
    about: "Most runs streamed at the same time; the next one is refused with 429",
  }),
  WEB_STREAM_MAX_SECONDS: integer({
    min: 1,
    max: 60 * 60,
    fallback: 300,
    about: "Longest time (s) of a streamed run; it is then ended between two steps",
  }),
};

export const WEB_RULES: readonly EnvRule[] = [
  {
    // Guessed differently than the workers do, runs would be rejected that they could do, or taken that they cannot.
    names: ["NODE_ENV", "WORKFLOW_EXECUTOR"],
    check: (values) =>
      values["NODE_ENV"] === "production" && values["WORKFLOW_EXECUTOR"] === undefined
        ? `WORKFLOW_EXECUTOR: expected ${EXECUTOR_KINDS.join(", ")} with NODE_ENV=production, got none`
        : null,
  },
  {
    // The workers would hand their runs to a bridge that is not there.
    names: ["WORKFLOW_EXECUTOR", "WORKFLOW_BRIDGE_SECRET"],
    check(values) {
      const executor = values["WORKFLOW_EXECUTOR"];
      if ((executor !== "http" && executor !== "hybrid") || values["WORKFLOW_BRIDGE_SECRET"] !== undefined) return null;
      return `WORKFLOW_BRIDGE_SECRET: expected a value with WORKFLOW_EXECUTOR=${executor}, got none`;
    },
  },
];
