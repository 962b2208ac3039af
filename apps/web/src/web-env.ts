import { integer, optionalText, text, type EnvRule } from "@toolctrl/runtime/env";
import { bridgeRule, EXECUTOR_RULE, executorFields } from "@toolctrl/workflow/executor-env";

/** Where the web app listens, and what it does of workflows. */
export const webFields = {
  WEB_HOST: text({
    pattern: /^[0-9A-Za-z.:-]{1,255}$/,
    accepts: "an address or host name",
    fallback: "127.0.0.1",
    about: "Address the web server listens on; 0.0.0.0 lets a proxy of another host reach it",
  }),
  WEB_PORT: integer({ min: 0, max: 65_535, fallback: 3000, about: "Port of the web server; 0 takes a free one and logs it" }),
  ...executorFields({
    executor:
      "What the installation's workers run workflows with: a run that they could not do is rejected when it is started; unset means native, but production asks for it",
    secret:
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

export const WEB_RULES: readonly EnvRule[] = [EXECUTOR_RULE, bridgeRule(["WORKFLOW_BRIDGE_SECRET"])];
