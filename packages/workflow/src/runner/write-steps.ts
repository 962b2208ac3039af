import type { Queryable } from "@toolctrl/db/sql";
import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";
import type { NewStep } from "./advance.ts";
import type { Step } from "./step.ts";

/** Writes steps of a run, in one statement. The run's lock is held. */
export async function insertSteps(
  tx: Queryable,
  run: { readonly id: string; readonly retryEpoch: number },
  steps: readonly NewStep[],
): Promise<void> {
  if (steps.length === 0) return;
  await tx.query(
    `INSERT INTO "WorkflowStep" ("id", "executionId", "nodeId", "iteration", "retryEpoch", "status", "finishedAt")
     SELECT s."id", $1::uuid, s."nodeId", s."iteration", $2::int, s."status", CASE WHEN s."status" = 'skipped' THEN clock_timestamp() END
     FROM unnest($3::uuid[], $4::text[], $5::int[], $6::text[]) AS s("id", "nodeId", "iteration", "status")`,
    [
      run.id,
      run.retryEpoch,
      steps.map(() => uuidv7()),
      steps.map(({ nodeId }) => nodeId),
      steps.map(({ iteration }) => iteration),
      steps.map(({ status }) => status),
    ],
  );
}

/** How a step ends. `attempts` and `unknowns` count the try that ended it. */
export type StepEnd = Pick<Step, "attempts" | "unknowns"> &
  (
    | { readonly status: "done"; readonly branch: string; readonly output: JsonValue }
    | { readonly status: "failed"; readonly error: unknown }
  );

/** Ends a step. The run's lock is held, and the step is open. */
export async function endStep(tx: Queryable, stepId: string, end: StepEnd): Promise<void> {
  const failed = end.status === "failed" ? end.error : null;
  await tx.query(
    `UPDATE "WorkflowStep" SET "status" = $2, "branch" = $3, "output" = $4::jsonb, "attempts" = $5, "unknowns" = $6, "errorCode" = $7, "error" = $8,
       "token" = NULL, "callingSince" = NULL, "dueAt" = NULL, "finishedAt" = clock_timestamp() WHERE "id" = $1::uuid`,
    [
      stepId,
      end.status,
      end.status === "done" ? end.branch : null,
      end.status === "done" ? JSON.stringify(end.output) : null,
      end.attempts,
      end.unknowns,
      failed === null ? null : errorCodeOf(failed),
      failed === null ? null : describeError(failed),
    ],
  );
}

/** Puts a step off to another try. The run's lock is held, and the step is open. */
export async function putOffStep(
  tx: Queryable,
  stepId: string,
  retry: Pick<Step, "attempts" | "unknowns"> & { readonly dueAt: Date; readonly error: unknown },
): Promise<void> {
  await tx.query(
    `UPDATE "WorkflowStep" SET "status" = 'retry', "attempts" = $2, "unknowns" = $3, "dueAt" = $4, "errorCode" = $5, "error" = $6,
       "token" = NULL, "callingSince" = NULL WHERE "id" = $1::uuid`,
    [stepId, retry.attempts, retry.unknowns, retry.dueAt, errorCodeOf(retry.error), describeError(retry.error)],
  );
}

/** Marks a step as calling, the last thing before a call that cannot be taken back. The run's lock is held. */
export async function beginCall(tx: Queryable, stepId: string, token: string): Promise<void> {
  await tx.query(
    `UPDATE "WorkflowStep" SET "status" = 'calling', "token" = $2::uuid, "callingSince" = clock_timestamp(), "attempts" = "attempts" + 1, "dueAt" = NULL
     WHERE "id" = $1::uuid`,
    [stepId, token],
  );
}

/** Marks a step as waiting for a person. The run's lock is held. */
export async function beginWait(tx: Queryable, stepId: string): Promise<void> {
  await tx.query(`UPDATE "WorkflowStep" SET "status" = 'waiting', "attempts" = "attempts" + 1, "dueAt" = NULL WHERE "id" = $1::uuid`, [
    stepId,
  ]);
}

/** Ends what is still open of a run that has ended, and what it still asks people. The run's lock is held. */
export async function cancelOpenSteps(tx: Queryable, executionId: string): Promise<void> {
  await tx.query(
    `UPDATE "WorkflowStep" SET "status" = 'cancelled', "token" = NULL, "callingSince" = NULL, "dueAt" = NULL, "finishedAt" = clock_timestamp()
     WHERE "executionId" = $1::uuid AND "current" AND "status" IN ('ready', 'retry', 'calling', 'waiting')`,
    [executionId],
  );
  await tx.query(
    `UPDATE "WorkflowInput" SET "status" = 'cancelled' WHERE "status" = 'open' AND "stepId" IN
       (SELECT "id" FROM "WorkflowStep" WHERE "executionId" = $1::uuid AND ("status" = 'cancelled' OR NOT "current"))`,
    [executionId],
  );
}
