import { CodedError } from "@toolctrl/foundation/errors";
import { expect, test } from "vitest";
import type { CallTerms } from "../src/external-call.ts";
import { concludeIntents } from "../src/external-call.ts";
import { judgeAnswer, judgeError } from "../src/external-call/judge-answer.ts";

const terms = {
  consumer: "webhook-deliver",
  peer: "plugin",
  codes: { gone: "WEBHOOK.GONE", rejected: "WEBHOOK.REJECTED", failed: "WEBHOOK.FAILED", unknown: "WEBHOOK.OUTCOME_UNKNOWN" },
} as const satisfies CallTerms;
const options = { maxRetryAfterMs: 60_000 };
const answer = (status: number, headers: Record<string, string> = {}) => ({ status, headers, body: Buffer.from("yes"), truncated: false });

test.each([200, 201, 204, 299])("%i is accepted, with its answer", (status) => {
  expect(judgeAnswer(answer(status), terms, options)).toEqual({ kind: "accepted", answer: answer(status) });
});

test.each([
  [410, "gone", "WEBHOOK.GONE"],
  [300, "permanent", "WEBHOOK.REJECTED"],
  [400, "permanent", "WEBHOOK.REJECTED"],
  [404, "permanent", "WEBHOOK.REJECTED"],
  [429, "retry", "WEBHOOK.FAILED"],
  [500, "retry", "WEBHOOK.FAILED"],
  [503, "retry", "WEBHOOK.FAILED"],
])("%i is %s, under the consumer's own code and name", (status, kind, code) => {
  const verdict = judgeAnswer(answer(status), terms, options);
  expect(verdict).toMatchObject({ kind, error: { code, message: expect.stringContaining("the plugin") } });
});

test.each([409, 425])("%i is taken back later where the peer is known to do so, and permanent elsewhere", (status) => {
  expect(judgeAnswer(answer(status), { ...terms, retriedStatuses: [409, 425] }, options)).toMatchObject({ kind: "retry", unknown: false });
  expect(judgeAnswer(answer(status), terms, options)).toMatchObject({ kind: "permanent" });
});

test.each([
  [429, { "retry-after": "7" }, 7000],
  [503, { "retry-after": "700" }, 60_000],
  [429, { "retry-after": "soon" }, null],
  [429, {}, null],
  [500, { "retry-after": "7" }, null],
])("%i with %o asks for %s ms", (status, headers, askedMs) => {
  expect(judgeAnswer(answer(status, headers), terms, options)).toMatchObject({ askedMs, unknown: false });
});

test.each([
  ["cut off after the connection stood: unknown", { connected: true }, { kind: "retry", unknown: true }],
  ["cut off before that: known not to have arrived", { connected: false }, { kind: "retry", unknown: false }],
])("%s", (_what, facts, expected) => {
  expect(judgeError(new CodedError("HTTP.TIMEOUT", "expected an answer", { facts }), terms, options)).toMatchObject(expected);
});

test.each([
  [200, {}, { kind: "accepted", answer: { status: 200, headers: {}, body: null } }],
  [404, {}, { kind: "permanent" }],
  [429, { "retry-after": "7" }, { kind: "retry", unknown: false, askedMs: 7000 }],
])("%i with %o and no whole body is judged like a whole answer", (status, headers, expected) => {
  const thrown = Object.assign(new CodedError("HTTP.TIMEOUT", "expected an answer"), { answer: { status, headers } });
  expect(judgeError(thrown, terms, options)).toMatchObject(expected);
});

test("what our own client refuses is permanent", () => {
  const thrown = new CodedError("HTTP.BLOCKED_ADDRESS", "expected a public address");
  expect(judgeError(thrown, terms, options)).toMatchObject({ kind: "permanent", error: { code: "WEBHOOK.REJECTED" } });
});

test("a job waits while one of its calls is open, dies of one that failed, and is done with those that are gone", () => {
  const row = { id: "1", externalId: "e", attempts: 2, unknowns: 0, lastError: "no", sendingForMs: null, waitMs: 0 };
  const sent = { ...row, target: "a", state: "sent", lastErrorCode: null } as const;
  const gone = { ...row, target: "b", state: "failed", lastErrorCode: "WEBHOOK.GONE" } as const;
  const failed = { ...row, target: "c", state: "failed", lastErrorCode: "WEBHOOK.FAILED" } as const;
  const open = { ...row, target: "d", state: "unknown", lastErrorCode: "WEBHOOK.FAILED", waitMs: 40 } as const;
  const conclude = (...intents: Parameters<typeof concludeIntents>[0]) => concludeIntents(intents, terms, { deadlineMs: 1000 });
  expect(conclude(sent, gone)).toEqual({ kind: "done", result: { delivered: 1, plugins: 2 } });
  expect(conclude(sent, failed, open)).toMatchObject({ kind: "snooze" });
  expect(conclude(sent, gone, failed)).toMatchObject({ kind: "cancel", error: { code: "WEBHOOK.REJECTED", facts: { failed: ["c"] } } });
  expect(conclude()).toEqual({ kind: "done", result: { delivered: 0, plugins: 0 } });
});
