import { spawnNode } from "@toolctrl/testkit/process";
import { expect, test } from "vitest";
import { mailEnv } from "./rig.ts";

const SHARED = {
  DATABASE_URL: "mysql://x",
  DATABASE_POOL_MAX: "0",
  QUEUE_BACKEND: "redis",
  QUEUE_PREFIX: "untagged",
  LOG_LEVEL: "loud",
  HEALTH_PORT: "http",
  OUTBOX_DISPATCH_BATCH_SIZE: "many",
  OUTBOX_LEASE_MS: "1000",
  OUTBOX_LOCK_TIMEOUT_MS: "1000",
  OUTBOX_RESULT_TTL_SECONDS: "3600",
  SENTRY_DSN: "https://hunter2@somewhere",
};
const SHARED_PROBLEMS = [
  "DATABASE_URL: expected a URL that begins with postgres://",
  "DATABASE_POOL_MAX: expected a whole number from 1 to 500",
  "REDIS_URL: expected a value with QUEUE_BACKEND=redis",
  "QUEUE_PREFIX: expected a hash-tagged name",
  "LOG_LEVEL: expected one of trace, debug, info, warn, error, fatal, silent",
  "HEALTH_PORT: expected a whole number",
  "OUTBOX_DISPATCH_BATCH_SIZE: expected a whole number",
  "OUTBOX_LOCK_TIMEOUT_MS: expected less than OUTBOX_LEASE_MS",
  "OUTBOX_RESULT_TTL_SECONDS: expected the result TTL to exceed the retry horizon",
  "SENTRY_DSN: expected a Sentry DSN",
];

test.each([
  ["worker-general", { ...SHARED, WORKER_QUEUE_GROUP: "mail" }, [...SHARED_PROBLEMS, "WORKER_QUEUE_GROUP: expected general"]],
  [
    "worker-mail",
    {
      ...SHARED,
      ...mailEnv(25, 80),
      WORKER_QUEUE_GROUP: "general",
      SMTP_URL: "http://user:hunter2@x",
      MAIL_FROM: "a@x, b@y",
      WEBHOOK_SECRETS_KEY: "hunter2",
      OUTBOX_CLAIM_TTL_MS: "1000",
    },
    [
      ...SHARED_PROBLEMS,
      "WORKER_QUEUE_GROUP: expected mail",
      "SMTP_URL: expected a URL that begins with smtp://",
      "MAIL_FROM: expected one plain address",
      "WEBHOOK_SECRETS_KEY: expected 32 bytes in base64",
      "MAIL_SEND_DEADLINE_MS: expected less than OUTBOX_CLAIM_TTL_MS",
      "WEBHOOK_DEADLINE_MS: expected less than OUTBOX_CLAIM_TTL_MS",
      "MARKETING_DEADLINE_MS: expected less than OUTBOX_CLAIM_TTL_MS",
    ],
  ],
])("%s refuses a bad environment with every problem at once, for a person to read, and starts nothing", async (app, env, problems) => {
  const child = spawnNode(new URL(`../../${app}/src/main.ts`, import.meta.url), { env });
  expect(await child.waitForExit()).toEqual({ code: 1, signal: null });
  for (const problem of problems) expect(child.stderr()).toContain(`  - ${problem}`);
  expect(child.stderr().match(/^ {2}- /gm)).toHaveLength(problems.length);
  expect(child.stderr()).not.toMatch(/^\s+at |\.ts:\d|node:internal|hunter2/m);
  expect(child.stdout()).toBe("");
});

const GOOD = { DATABASE_URL: "postgres://localhost/x", QUEUE_BACKEND: "postgres" };
const BRIDGE = { WORKFLOW_BRIDGE_URL: "https://web.test", WORKFLOW_BRIDGE_SECRET: "s".repeat(32) };

test.each<[string, Record<string, string>, string]>([
  ["of production that does not say who runs workflows", { NODE_ENV: "production" }, "WORKFLOW_EXECUTOR: expected native, http, hybrid"],
  [
    "of the http executor without the web app's address",
    { ...BRIDGE, WORKFLOW_EXECUTOR: "http", WORKFLOW_BRIDGE_URL: "" },
    "WORKFLOW_BRIDGE_URL: expected a value",
  ],
  [
    "of the hybrid executor without a secret",
    { ...BRIDGE, WORKFLOW_EXECUTOR: "hybrid", WORKFLOW_BRIDGE_SECRET: "" },
    "WORKFLOW_BRIDGE_SECRET: expected a value",
  ],
  ["with an executor that there is not", { WORKFLOW_EXECUTOR: "remote" }, "WORKFLOW_EXECUTOR: expected one of native, http, hybrid"],
  [
    "with a secret that is too short",
    { ...BRIDGE, WORKFLOW_EXECUTOR: "http", WORKFLOW_BRIDGE_SECRET: "hunter2" },
    "WORKFLOW_BRIDGE_SECRET: expected 32 to 200 characters",
  ],
])("worker-general refuses an environment %s, and names the setting", async (_, env, problem) => {
  const child = spawnNode(new URL("../src/main.ts", import.meta.url), { env: { ...GOOD, ...env } });
  expect(await child.waitForExit()).toEqual({ code: 1, signal: null });
  expect(child.stderr()).toContain(`  - ${problem}`);
  expect(child.stderr().match(/^ {2}- /gm)).toHaveLength(1);
  expect(child.stderr()).not.toContain("hunter2");
});
