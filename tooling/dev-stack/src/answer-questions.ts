import type { Database } from "@toolctrl/db/client";
import { isCodedError } from "@toolctrl/foundation/errors";
import { createExecutionsService, listOpenInputs } from "@toolctrl/workflow/executions";

/** Answers, as the sample product's sales people, what the tenants' workflows ask at this moment. */
export async function answerQuestions({ pool }: Database, tenants: readonly string[]): Promise<void> {
  const runs = createExecutionsService({ pool, executor: "native", runner: null });
  for (const tenantId of tenants) {
    for (const { id } of await listOpenInputs(pool, { tenantId })) {
      await runs.continue({ tenantId, inputId: id, value: { decision: "accept" }, answeredBy: "user-2" }).catch(unlessTooLate);
    }
  }
}

/** A question of an earlier start may have run out since it was listed. */
function unlessTooLate(error: unknown): void {
  if (!isCodedError(error) || (error.code !== "WORKFLOW.INPUT_EXPIRED" && error.code !== "WORKFLOW.INPUT_ANSWERED")) throw error;
}
