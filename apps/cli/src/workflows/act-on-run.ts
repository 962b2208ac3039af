import { transaction, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { isCodedError, type CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { recordAction, type NewAction } from "@toolctrl/outbox-drainer/actions";
import type { ExecutionKey, ExecutionView } from "@toolctrl/workflow/executions";

export interface RunAction<Result extends JsonObject> {
  readonly key: ExecutionKey;
  readonly audit: Pick<NewAction, "action" | "actor" | "reason">;
  /** Carries it out on the run, which is locked. What it gives is kept in the audit row. @throws before it has written anything */
  act(tx: Queryable, run: ExecutionView): Promise<Result>;
}

/**
 * Carries an operator's action on a run out, in one transaction with its audit row: who, why, and how the run was before. An action that the
 * run's status refuses is recorded as well, and thrown after that.
 * @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.STATE`, and what `act` throws
 */
export async function actOnRun<Result extends JsonObject>(
  pool: Database["pool"],
  { key, audit, act }: RunAction<Result>,
): Promise<{ readonly actionId: string; readonly before: ExecutionView; readonly result: Result }> {
  const { lockExecution, readExecution } = await import("@toolctrl/workflow/executions");
  const done = await transaction(pool, async (tx) => {
    await lockExecution(tx, key);
    const before = await readExecution(tx, key);
    const end = await act(tx, before).catch((error: unknown) => refusalOf(error));
    const { status, reasonCode, reason } = before;
    const what = isCodedError(end) ? { refused: end.message } : end;
    const actionId = await recordAction(tx, {
      ...audit,
      params: { ...key, before: { status, reasonCode, reason }, ...what },
      eventIds: [],
      affected: isCodedError(end) ? 0 : 1,
    });
    return { actionId, before, end };
  });
  if (isCodedError(done.end)) throw done.end;
  return { actionId: done.actionId, before: done.before, result: done.end };
}

/** The error that is an answer; every other one is thrown on. */
function refusalOf(error: unknown): CodedError {
  if (isCodedError(error) && error.code === "WORKFLOW.STATE") return error;
  throw error;
}
