import { CodedError } from "@toolctrl/foundation/errors";
import { expect, test } from "vitest";
import { createLogger } from "../src/logger.ts";

function capture(level = "info"): { lines: Array<Record<string, unknown>>; log: ReturnType<typeof createLogger> } {
  const lines: Array<Record<string, unknown>> = [];
  const log = createLogger({
    app: "test-app",
    level,
    destination: { write: (text: string) => void lines.push(JSON.parse(text) as Record<string, unknown>) },
  });
  return { lines, log };
}

test("a line has app, level as a word, and an ISO time", () => {
  const { lines, log } = capture();
  log.child({ worker: 1 }).warn({ n: 2 }, "hello");
  expect(lines).toEqual([
    expect.objectContaining({ app: "test-app", level: "warn", msg: "hello", worker: 1, n: 2, time: expect.stringMatching(/^\d{4}-.*Z$/) }),
  ]);
});

test("lines below the level are dropped", () => {
  const { lines, log } = capture("error");
  log.info("no");
  log.error("yes");
  expect(lines.map((line) => line["msg"])).toEqual(["yes"]);
});

test("a coded error is logged with its code, fix, facts and whether a retry helps", () => {
  const { lines, log } = capture();
  log.error({ err: new CodedError("HTTP.TIMEOUT", "expected an end", { facts: { deadlineMs: 5 } }) }, "failed");
  expect(lines[0]?.["err"]).toMatchObject({
    code: "HTTP.TIMEOUT",
    retry: true,
    facts: { deadlineMs: 5 },
    message: "expected an end",
    fix: expect.any(String),
  });
});

test("an error of a driver is logged with its code and constraint, its causes, and without the row it quotes", () => {
  const { lines, log } = capture();
  const error = Object.assign(new Error("duplicate key", { cause: new Error("the cause") }), {
    code: "23505",
    constraint: "lead_email",
    detail: "Key (email)=(a@x.test) already exists.",
  });
  log.error({ err: error }, "failed");
  expect(lines[0]?.["err"]).toMatchObject({
    code: "23505",
    constraint: "lead_email",
    message: "duplicate key: the cause",
    stack: expect.stringContaining("the cause"),
  });
  expect(JSON.stringify(lines)).not.toContain("a@x.test");
});

test("fields that carry secrets are not written", () => {
  const { lines, log } = capture();
  log.info({ password: "hunter2", smtp: { password: "hunter2" }, headers: { authorization: "hunter2" }, databaseUrl: "hunter2" }, "x");
  expect(JSON.stringify(lines)).not.toContain("hunter2");
});

test("a thrown value that is no error is logged as it is", () => {
  const { lines, log } = capture();
  log.error({ err: "text" }, "x");
  expect(lines[0]?.["err"]).toBe("text");
});
