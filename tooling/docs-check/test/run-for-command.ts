// What the commands about workflow runs need to exist before they can do what they are there for.
import { transaction, type Database } from "@toolctrl/db/client";
import { createLogger } from "@toolctrl/runtime/logger";
import { createWorkflow, switchWorkflow } from "@toolctrl/workflow/definitions";
import { createExecutionsService, readExecution, type ExecutionStatus } from "@toolctrl/workflow/executions";
import { runExecution } from "@toolctrl/workflow/runner";
import { codeBlocksOf } from "../src/code-blocks.ts";
import { readText } from "../src/repository.ts";

const TENANT = "acme";

/** The definition that the guide for operators shows as `approval.json`. */
export function documentedWorkflow(): string {
  const block = codeBlocksOf(readText("docs/guides/operate.md")).find(
    ({ language, code }) => language === "json" && code.includes("waitForInput"),
  );
  if (block === undefined) throw new Error("expected the guide for operators to show a definition, got none");
  return block.code;
}

/** A live workflow with a run, by the placeholders of the guide. */
export interface RunForCommand {
  readonly workflow: string;
  readonly run: string;
  readonly question: string;
}

/** A run of the documented workflow that waits for its answer; with `ended`, one that has got it. */
export async function startRunForCommand({ pool }: Database, ended: boolean): Promise<RunForCommand> {
  const workflowId = await transaction(pool, async (tx) => {
    const { id } = await createWorkflow(tx, { tenantId: TENANT, definition: JSON.parse(documentedWorkflow()) });
    await switchWorkflow(tx, { tenantId: TENANT, workflowId: id }, true);
    return id;
  });
  const http = { request: () => Promise.reject(new TypeError("expected the documented workflow to call nobody")) };
  const deps = { pool, http, credentials: null, log: createLogger({ app: "test", level: "silent" }) };
  const service = createExecutionsService({ pool, executor: "native", runner: null });
  const { execution } = await service.run({ tenantId: TENANT, workflowId, startedBy: "person", input: { order: 1042 } });
  const key = { tenantId: TENANT, executionId: execution.id };
  const never = new AbortController().signal;
  await runExecution(deps, key, never);
  const question = (await readExecution(pool, key)).inputs[0]?.id ?? "";
  if (ended) {
    await service.continue({ tenantId: TENANT, inputId: question, value: { approved: true }, answeredBy: "ann" });
    await runExecution(deps, key, never);
  }
  return { workflow: workflowId, run: execution.id, question };
}

/** How a run stands, and whether its question has been answered. */
export async function readRun({ pool }: Database, executionId: string): Promise<{ status: ExecutionStatus; question: string | undefined }> {
  const { status, inputs } = await readExecution(pool, { tenantId: TENANT, executionId });
  return { status, question: inputs.at(-1)?.status };
}
