import { CodedError } from "@toolctrl/foundation/errors";
import { expect, test } from "vitest";
import { apiErrorOf } from "../src/http/api-error.ts";

const withCode = (message: string, code: string): Error => Object.assign(new Error(message), { code });

test("of a fault of ours the caller learns that there was one, and nothing else", () => {
  const faults = [
    new Error("row 7 of Ann"),
    withCode("duplicate key (Ann)", "23505"),
    new CodedError("DB.TRANSACTION_ABORTED", "Ann"),
    "Ann",
    undefined,
  ];
  for (const fault of faults) {
    const { status, body } = apiErrorOf(fault);
    expect({ status, code: body.error.code, facts: body.error.facts }).toEqual({ status: 500, code: "API.FAILED", facts: {} });
    expect(JSON.stringify(body)).not.toContain("Ann");
  }
});

test.each([
  ["a pool without a free connection", new CodedError("DB.POOL_TIMEOUT", "none", { facts: { max: 10 } })],
  ["a server that refuses connections", withCode("connect ECONNREFUSED", "ECONNREFUSED")],
  ["a server that stops", withCode("terminating connection", "57P01")],
  ["a server without room", withCode("too many clients", "53300")],
  ["a connection that was cut", new Error("Connection terminated unexpectedly")],
  ["a lock that a rival keeps", withCode("canceling statement due to lock timeout", "55P03")],
  ["a deadlock", withCode("deadlock detected", "40P01")],
  ["Prisma, when it cannot reach the server", withCode("Can't reach database server", "P1001")],
  ["any of them as a cause", new Error("outer", { cause: withCode("connect", "ECONNRESET") })],
])("%s is worth another try", (_what, error) => {
  const { status, body } = apiErrorOf(error);
  expect({ status, code: body.error.code, facts: body.error.facts }).toEqual({ status: 503, code: "API.UNAVAILABLE", facts: {} });
});

test("a coded error that is the caller's keeps its message, its fix and its facts", () => {
  expect(apiErrorOf(new CodedError("WORKFLOW.NOT_LIVE", "expected live, got off", { facts: { workflowId: "7" } }))).toEqual({
    status: 409,
    body: {
      error: {
        code: "WORKFLOW.NOT_LIVE",
        message: "expected live, got off",
        fix: "Set the workflow live, then start it again.",
        facts: { workflowId: "7" },
      },
    },
  });
});
