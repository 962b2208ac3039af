import type { Queryable } from "@toolctrl/db/sql";
import { STEP_COLUMNS, type Step } from "./step.ts";

/**
 * The steps of a run that stand, in the order in which they were made. A statement of its own, after the run's lock: what another branch wrote
 * before it gave the lock up is seen here, and was not in the statement that waited for the lock.
 * Index: `WorkflowStep_identity_key`.
 */
export async function loadSteps(tx: Queryable, executionId: string): Promise<Step[]> {
  const { rows } = await tx.query<Step>(
    `SELECT ${STEP_COLUMNS} FROM "WorkflowStep" WHERE "executionId" = $1::uuid AND "current" ORDER BY "id"`,
    [executionId],
  );
  return rows;
}
