import { expect, test } from "vitest";
import { readEnv } from "../src/env.ts";

const BASE = { NODE_ENV: "test", DATABASE_URL: "postgres://u@127.0.0.1:1/d" };
const KEY = Buffer.alloc(32, 1).toString("base64");

test("a worker without plugins needs none of their settings, however short its claims are", () => {
  expect(readEnv({ ...BASE, OUTBOX_CLAIM_TTL_MS: "800" })).toMatchObject({
    PLUGIN_MAX_ATTEMPTS: 8,
    PLUGIN_BACKOFF_MS: 5000,
    PLUGIN_DEADLINE_MS: 15_000,
    PLUGIN_CONCURRENCY: 5,
  });
});

test("a call of a URL ends before an unrenewed claim does", () => {
  const plugins = { ...BASE, PLUGIN_SECRETS_KEY: KEY, PLUGIN_DEADLINE_MS: "10000" };
  expect(() => readEnv({ ...plugins, OUTBOX_CLAIM_TTL_MS: "10000" })).toThrow("PLUGIN_DEADLINE_MS: expected less than OUTBOX_CLAIM_TTL_MS");
  expect(readEnv({ ...plugins, OUTBOX_CLAIM_TTL_MS: "10001" }).PLUGIN_DEADLINE_MS).toBe(10_000);
});

test.each([
  ["PLUGIN_SECRETS_KEY", "too-short"],
  ["PLUGIN_MAX_ATTEMPTS", "0"],
  ["PLUGIN_BACKOFF_MS", "-1"],
  ["PLUGIN_DEADLINE_MS", "60000"],
  ["PLUGIN_RETRY_AFTER_MAX_SECONDS", "x"],
  ["PLUGIN_CONCURRENCY", "0"],
])("%s=%s stops the boot, by name", (name, value) => {
  expect(() => readEnv({ ...BASE, [name]: value })).toThrow(name);
});
