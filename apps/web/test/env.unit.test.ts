import { expect, test } from "vitest";
import { readEnv } from "../src/env.ts";

const BASE = { DATABASE_URL: "postgres://db" };

function problemsOf(settings: Readonly<Record<string, string>>): unknown {
  try {
    readEnv({ ...BASE, ...settings });
    return [];
  } catch (error) {
    return (error as { facts: { problems: string[] } }).facts.problems;
  }
}

test("the address, the limits of streams and nothing secret have defaults", () => {
  expect(readEnv(BASE)).toMatchObject({ WEB_HOST: "127.0.0.1", WEB_PORT: 3000, WEB_MAX_STREAMS: 20, WEB_STREAM_MAX_SECONDS: 300 });
  for (const name of ["WORKFLOW_EXECUTOR", "WORKFLOW_BRIDGE_SECRET", "WORKFLOW_CREDENTIALS_KEY"])
    expect(readEnv(BASE)).not.toHaveProperty(name);
});

test.each([
  [{ NODE_ENV: "production" }, "WORKFLOW_EXECUTOR: expected native, http, hybrid with NODE_ENV=production, got none"],
  [{ WORKFLOW_EXECUTOR: "http" }, "WORKFLOW_BRIDGE_SECRET: expected a value with WORKFLOW_EXECUTOR=http, got none"],
  [{ WORKFLOW_EXECUTOR: "hybrid" }, "WORKFLOW_BRIDGE_SECRET: expected a value with WORKFLOW_EXECUTOR=hybrid, got none"],
  [{ WORKFLOW_EXECUTOR: "other" }, `WORKFLOW_EXECUTOR: expected one of native, http, hybrid, got "other"`],
  [{ WORKFLOW_BRIDGE_SECRET: "short" }, "WORKFLOW_BRIDGE_SECRET: expected 32 to 200 characters without blanks, got another (not shown)"],
  [{ WORKFLOW_CREDENTIALS_KEY: "c2hvcnQ=" }, "WORKFLOW_CREDENTIALS_KEY: expected 32 bytes in base64, got another (not shown)"],
  [{ WEB_STREAM_MAX_SECONDS: "0" }, `WEB_STREAM_MAX_SECONDS: expected a whole number from 1 to 3600, got "0"`],
])("%j is refused", (settings, problem) => {
  expect(problemsOf(settings)).toEqual([problem]);
});
