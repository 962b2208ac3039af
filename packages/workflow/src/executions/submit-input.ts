import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { inputFieldsSchema, inputValueSchema } from "@toolctrl/foundation/workflows";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import { listSchemaProblems, problemLines } from "@toolctrl/foundation/schema-problems";
import { publishContinue } from "../runner/publish-continue.ts";
import { deepenExecution } from "./deepen-execution.ts";
import { EXECUTION_COLUMNS, type Execution, type RunCause } from "./execution.ts";
import { INPUT_COLUMNS, type InputView } from "./read-execution.ts";

export interface Submission extends RunCause {
  readonly tenantId: string;
  readonly inputId: string;
  /** By field name, as the question's fields ask. */
  readonly value: JsonObject;
  readonly answeredBy: string | null;
}

/**
 * Answers a run's question, and has the run be gone on with, in the caller's transaction. Of several answers the first one to commit wins, by
 * compare-and-set: the others are told so, and change nothing.
 *
 * Lock: the question; the run's is taken by whoever goes on with it, and before the question where the answer makes the run deeper.
 * @throws CodedError `WORKFLOW.NOT_FOUND`; `WORKFLOW.INPUT_INVALID` with what is wrong in each field; `WORKFLOW.INPUT_ANSWERED` when somebody
 * was first, or the run has ended; `WORKFLOW.INPUT_EXPIRED` when it is too late by the database's clock;
 * `WORKFLOW.LOOP_STOPPED`
 */
export async function submitInput(tx: Queryable, { tenantId, inputId, value, answeredBy, depth }: Submission): Promise<InputView> {
  const asked = await findInput(tx, tenantId, inputId);
  const checked = checkValue(asked.fields, value);
  await deepenExecution(tx, { tenantId, executionId: asked.executionId, depth });
  const { rows } = await tx.query<InputView>(
    `UPDATE "WorkflowInput" SET "status" = 'submitted', "value" = $2::jsonb, "answeredBy" = $3, "answeredAt" = clock_timestamp()
     WHERE "id" = $1::uuid AND "status" = 'open' AND ("expiresAt" IS NULL OR "expiresAt" > clock_timestamp()) RETURNING ${INPUT_COLUMNS}`,
    [inputId, JSON.stringify(checked), answeredBy],
  );
  const answered = rows[0];
  if (answered === undefined) throw tooLate(await findInput(tx, tenantId, inputId));
  const run = await tx.query<Execution>(`SELECT ${EXECUTION_COLUMNS} FROM "WorkflowExecution" WHERE "id" = $1::uuid`, [
    answered.executionId,
  ]);
  if (run.rows[0] !== undefined) await publishContinue(tx, run.rows[0], { reason: "input", stepId: answered.stepId });
  return answered;
}

async function findInput(tx: Queryable, tenantId: string, inputId: string): Promise<InputView> {
  const { rows } = await tx.query<InputView>(`SELECT ${INPUT_COLUMNS} FROM "WorkflowInput" WHERE "id" = $1::uuid AND "tenantId" = $2`, [
    inputId,
    tenantId,
  ]);
  if (rows[0] !== undefined) return rows[0];
  throw new CodedError("WORKFLOW.NOT_FOUND", `expected a question ${inputId}, got none`, { facts: { inputId } });
}

function checkValue(fields: JsonValue, value: JsonObject): JsonObject {
  const parsed = inputValueSchema({ fields: inputFieldsSchema.parse(fields) }).safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = listSchemaProblems(parsed.error);
  throw new CodedError("WORKFLOW.INPUT_INVALID", `expected an answer that fits its fields, got:\n${problemLines(problems, "answer")}`, {
    facts: { problems },
  });
}

function tooLate({ id, status, answeredBy }: InputView): CodedError {
  const facts = { inputId: id, status };
  // Still open, but past its time: the run has not been told yet.
  if (status === "expired" || status === "open") {
    return new CodedError("WORKFLOW.INPUT_EXPIRED", `expected question ${id} to be answered in time, got an answer after that`, { facts });
  }
  const why = status === "cancelled" ? "its run goes on without it" : `${answeredBy ?? "somebody"} was first`;
  return new CodedError("WORKFLOW.INPUT_ANSWERED", `expected question ${id} to be open, got it ${status}: ${why}`, { facts });
}
