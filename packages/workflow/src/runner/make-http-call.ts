import { judgeAnswer, judgeError, type CallAnswer, type CallTerms, type Verdict } from "@toolctrl/consumer/external-call";
import { transaction } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import { inSpan } from "@toolctrl/tracing/spans";
import { isTerminal } from "@toolctrl/foundation/workflows";
import { answerIn } from "@toolctrl/runtime/guarded-http";
import type { ExecutionKey } from "../executions/execution.ts";
import type { BegunCall } from "./begin-http-call.ts";
import { completeStep } from "./complete-step.ts";
import type { RunnerDeps } from "./deps.ts";
import { failStep } from "./fail-step.ts";
import { isStepFailure } from "./is-step-failure.ts";
import { outputOf } from "./output-of-answer.ts";
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
  try {
    await record(deps, key, call, verdict);
  } catch (error) {
    if (verdict.kind !== "accepted" || !isStepFailure(error)) throw error;
    // The call has had its effect. A step that is left calling counts as lost, and calls again.
    await record(deps, key, call, { kind: "permanent", error: unrecorded(call, error) });
  }
}

function record(deps: RunnerDeps, key: ExecutionKey, call: BegunCall, verdict: Verdict): Promise<void> {
  return transaction(deps.pool, async (tx) => {
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
    return judge(await deps.http.request({ ...request, signal }), successStatuses);
  } catch (error) {
    const head = answerIn(error);
    return head === null ? judgeError(error, TERMS, OPTIONS) : judge({ ...head, body: null }, successStatuses);
  }
}

function judge(answer: CallAnswer, successStatuses: readonly number[] | null): Verdict {
  if (successStatuses === null) return judgeAnswer(answer, TERMS, OPTIONS);
  if (successStatuses.includes(answer.status)) return { kind: "accepted", answer };
  const verdict = judgeAnswer(answer, TERMS, OPTIONS);
  return verdict.kind === "accepted" ? { kind: "permanent", error: unexpected(answer, successStatuses) } : verdict;
}

function unexpected({ status }: CallAnswer, expected: readonly number[]): CodedError {
  return new CodedError("WORKFLOW.HTTP_STATUS", `expected the address to answer ${expected.join(" or ")}, got ${status}`, {
    facts: { status },
  });
}

function unrecorded({ step: { nodeId } }: BegunCall, cause: unknown): CodedError {
  const why = `expected the answer to ${nodeId} to be recorded, got it refused by the database after the call`;
  return new CodedError("WORKFLOW.STEP_FAILED", why, { facts: { nodeId }, cause });
}
