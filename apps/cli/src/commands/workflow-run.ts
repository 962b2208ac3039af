import type { Database } from "@toolctrl/db/client";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { Execution } from "@toolctrl/workflow/executions";
import type { Command } from "commander";
import type { Invocation, Registrar } from "../command.ts";
import { readCliWorkflowEnv, type CliWorkflowEnv } from "../env.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { hintDrainers } from "../hint-drainers.ts";
import { parseJsonObject, tenantOption, textOption } from "../options/parse-options.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";
import { showCommand } from "../workflows/commands-to-run.ts";
import { fixOf } from "../workflows/fix-of.ts";
import { idOf } from "../workflows/id-of.ts";

interface RunOptions {
  readonly tenant: string;
  readonly input?: JsonObject;
  readonly key?: string;
}

const AFTER_HELP = `
Nothing is executed here: a worker takes the run. WORKFLOW_EXECUTOR says what the workers run with; a run that they could not do is recorded
as rejected, and the command ends with 4.
`;

/** `workflow run`: has a live workflow be run once, as a person would. */
export function registerWorkflowRun(parent: Command, registrar: Registrar): void {
  const command = tenantOption(
    parent
      .command("run")
      .description("start a run of a live workflow; a worker executes it")
      .argument("<workflowId>", "id of the workflow, as `workflow list` names it"),
  )
    .option(
      "--input <json>",
      "what it is started with, a JSON object: the fields of a manual trigger, or what the event would have given",
      parseJsonObject,
    )
    .option("--key <text>", "a key of your own: a second run with it is the first one again", textOption(200))
    .addHelpText("after", AFTER_HELP);
  registrar.handle<RunOptions>(command, async (invocation) => {
    const workflowId = idOf("workflow", invocation.args[0]);
    const env = readCliWorkflowEnv();
    return withDatabase(invocation.io, ({ pool }) => run({ pool, executor: env.WORKFLOW_EXECUTOR }, invocation, workflowId), env);
  });
}

async function run(
  { pool, executor }: { readonly pool: Database["pool"]; readonly executor: CliWorkflowEnv["WORKFLOW_EXECUTOR"] },
  { io, json, options }: Invocation<RunOptions>,
  workflowId: string,
): Promise<ExitCode> {
  const { createExecutionsService } = await import("@toolctrl/workflow/executions");
  const { tenant: tenantId, input, key: requestKey } = options;
  const service = createExecutionsService({ pool, executor, runner: null });
  const { execution, duplicate } = await service.run({ tenantId, workflowId, startedBy: "person", input, requestKey });
  if (!duplicate) await hintDrainers(pool);
  writeResult(io, json, { run: execution, duplicate }, () => describe(execution, duplicate));
  return execution.status === "rejected" ? EXIT.refused : EXIT.ok;
}

function describe({ id, tenantId, workflowId, version, status, reasonCode, reason }: Execution, duplicate: boolean): string {
  const follow = `follow it with \`${showCommand({ tenantId, executionId: id })}\``;
  const lead = duplicate
    ? `Run ${id} was started with this key before: it is ${status}.`
    : `Recorded run ${id} of ${workflowId}, version ${version}: it is ${status}.`;
  if (status !== "rejected") return [lead, follow].join("\n");
  const fix = fixOf(reasonCode);
  return [lead, `It is not executed: ${reason ?? reasonCode ?? ""}`, ...(fix === null ? [] : [`next: ${fix}`]), follow].join("\n");
}
