import { integer, lessThan, optionalText, type EnvRule } from "@toolctrl/runtime/env";
import { callPolicyFields } from "@toolctrl/worker/call-policy-fields";
const plugin = callPolicyFields({ tries: "Tries per hook and subscription before it is dead", peer: "a plugin" });

/** How plugins are called. */
export const pluginEnv = {
  PLUGIN_SECRETS_KEY: optionalText({
    pattern: /^[A-Za-z0-9+/]{43}=$/,
    accepts: "32 bytes in base64",
    about: "Encrypts the secrets of HTTP subscriptions at rest (openssl rand -base64 32); without it such hooks are dead, functions run",
  }),
  PLUGIN_MAX_ATTEMPTS: plugin.maxAttempts,
  PLUGIN_BACKOFF_MS: plugin.backoffMs,
  PLUGIN_RETRY_AFTER_MAX_SECONDS: plugin.retryAfterMaxSeconds,
  PLUGIN_DEADLINE_MS: integer({
    min: 100,
    // A transaction that waits for longer than a minute is ended by the database.
    max: 50_000,
    fallback: 15_000,
    about:
      "Longest time (ms) of one request to a plugin, or of one run of its function; less than OUTBOX_CLAIM_TTL_MS where PLUGIN_SECRETS_KEY is set",
  }),
  PLUGIN_CONCURRENCY: integer({
    min: 1,
    max: 500,
    fallback: 5,
    about: "Plugins called at the same time, but no more than half of DATABASE_POOL_MAX: a running function holds a connection",
  }),
};

const deadline = lessThan("PLUGIN_DEADLINE_MS", "OUTBOX_CLAIM_TTL_MS");

export const PLUGIN_RULES: readonly EnvRule[] = [
  {
    // A call that outlives an unrenewed claim would still be running when the next delivery takes it for dead. A function's transaction would not.
    names: ["PLUGIN_SECRETS_KEY", ...deadline.names],
    check: (values) => (values["PLUGIN_SECRETS_KEY"] === undefined ? null : deadline.check(values)),
  },
];
