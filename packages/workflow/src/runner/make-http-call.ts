import { judgeAnswer, judgeError, type CallTerms, type Verdict } from "@toolctrl/consumer/external-call";
import { transaction } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { inSpan } from "@toolctrl/tracing/spans";
import { isTerminal } from "@toolctrl/foundation/workflows";
import type { GuardedResponse } from "@toolctrl/runtime/guarded-http";
import type { ExecutionKey } from "../executions/execution.ts";
import type { BegunCall } from "./begin-http-call.ts";
import { completeStep } from "./complete-step.ts";
import type { RunnerDeps } from "./deps.ts";
import { failStep } from "./fail-step.ts";
import { stepSpan } from "./step-span.ts";
import { holdRun } from "./take-turn.ts";

const TERMS: Pick<CallTerms, "peer" | "codes" | "retriedStatuses"> = {
  peer: "address",
  codes: {
    gone: "WORKFLOW.HTTP_STATUS",
    rejected: "WORKFLOW.HTTP_STATUS",
    failed: "WORKFLOW.STEP_FAILED",
    unknown: "WORKFLOW.STEP_FAILED",
  },
};
const OPTIONS = { maxRetryAfterMs: 60 * 60 * 1000 };

/** Makes a call that has begun, and records what came of it. A call that another process has given up meanwhile settles nothing. */
export function makeHttpCall(deps: RunnerDeps, key: ExecutionKey, call: BegunCall, signal: AbortSignal): Promise<void> {
  return inSpan("step httpRequest", stepSpan(key.executionId, call.step), () => callAndRecord(deps, key, call, signal));
}

async function callAndRecord(deps: RunnerDeps, key: ExecutionKey, call: BegunCall, signal: AbortSignal): Promise<void> {
  const verdict = await send(deps, call, signal);
  await transaction(deps.pool, async (tx) => {
    const run = await holdRun(tx, key);
    const step = run.steps.find(({ id, token }) => id === call.step.id && token === call.token);
    if (isTerminal(run.execution.status) || step === undefined) return;
    const { attempts, unknowns } = step;
    if (verdict.kind === "accepted")
      return completeStep(run, step, { branch: "next", output: outputOf(verdict.answer), attempts, unknowns });
    const unknown = verdict.kind === "retry" && verdict.unknown;
    const failure = { error: verdict.error, attempts, unknowns: unknowns + (unknown ? 1 : 0) };
    await failStep(run, step, { ...failure, retry: verdict.kind === "retry", askedMs: verdict.kind === "retry" ? verdict.askedMs : null });
  });
}

async function send(deps: RunnerDeps, { request, successStatuses }: BegunCall, signal: AbortSignal): Promise<Verdict> {
  try {
    const answer = await deps.http.request({ ...request, signal });
    if (successStatuses === null) return judgeAnswer(answer, TERMS, OPTIONS);
    if (successStatuses.includes(answer.status)) return { kind: "accepted", answer };
    const verdict = judgeAnswer(answer, TERMS, OPTIONS);
    return verdict.kind === "accepted" ? { kind: "permanent", error: unexpected(answer, successStatuses) } : verdict;
  } catch (error) {
    return judgeError(error, TERMS, OPTIONS);
  }
}

function unexpected({ status }: GuardedResponse, expected: readonly number[]): CodedError {
  return new CodedError("WORKFLOW.HTTP_STATUS", `expected the address to answer ${expected.join(" or ")}, got ${status}`, {
    facts: { status },
  });
}

/** JSON where the answer says it is JSON and is, text otherwise; null when the answer's body never came. */
function outputOf(answer: GuardedResponse | null): JsonValue {
  if (answer === null) return { status: null, headers: {}, body: null };
  const { status, headers, body } = answer;
  return { status, headers, body: bodyOf(headers, body.toString("utf8")) };
}

function bodyOf(headers: GuardedResponse["headers"], text: string): JsonValue {
  if (/\bjson\b/i.test(headers["content-type"] ?? "")) {
    try {
      return JSON.parse(text, (_key, value: JsonValue) => (typeof value === "string" ? storable(value) : value)) as JsonValue;
    } catch {
      // It only said so.
    }
  }
  return storable(text);
}

/** PostgreSQL stores no NUL, and no half of a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD").toWellFormed();
}
