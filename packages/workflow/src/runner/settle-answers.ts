import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { completeStep } from "./complete-step.ts";
import { failStep } from "./fail-step.ts";
import type { HeldRun } from "./take-turn.ts";

type Answer = {
  readonly stepId: string;
  readonly status: "submitted" | "expired";
  readonly value: JsonValue;
  readonly answeredBy: string | null;
};

/**
 * Ends the first waiting step whose question was answered or ran out. True when there was one; the next turn looks for others.
 *
 * A question runs out by the database's clock, and by compare-and-set as an answer wins: whoever is first.
 * Index: `WorkflowInput_stepId_key`.
 */
export async function settleAnswers(run: HeldRun): Promise<boolean> {
  const waiting = run.steps.filter(({ status }) => status === "waiting");
  if (waiting.length === 0) return false;
  const ids = waiting.map(({ id }) => id);
  await run.tx.query(
    `UPDATE "WorkflowInput" SET "status" = 'expired' WHERE "stepId" = ANY ($1::uuid[]) AND "status" = 'open' AND "expiresAt" <= clock_timestamp()`,
    [ids],
  );
  const { rows } = await run.tx.query<Answer>(
    `SELECT "stepId"::text AS "stepId", "status", "value", "answeredBy" FROM "WorkflowInput"
     WHERE "stepId" = ANY ($1::uuid[]) AND "status" IN ('submitted', 'expired') ORDER BY "id" LIMIT 1`,
    [ids],
  );
  const answer = rows[0];
  const step = waiting.find(({ id }) => id === answer?.stepId);
  if (answer === undefined || step === undefined) return false;
  const { attempts, unknowns } = step;
  if (answer.status === "submitted") {
    const output = { value: answer.value, answeredBy: answer.answeredBy };
    await completeStep(run, step, { branch: "next", output, attempts, unknowns });
  } else if (run.graph.outgoing(step.nodeId).some(({ branch }) => branch === "expired")) {
    await completeStep(run, step, { branch: "expired", output: { value: null, answeredBy: null }, attempts, unknowns });
  } else {
    const why = `expected an answer to ${step.nodeId} in time, got none, and the step has no branch "expired"`;
    await failStep(run, step, { error: new CodedError("WORKFLOW.INPUT_EXPIRED", why), retry: false, attempts, unknowns });
  }
  return true;
}
