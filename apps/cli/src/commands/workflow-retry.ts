import type { Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { isCodedError } from "@toolctrl/foundation/errors";
import type { ExecutionView } from "@toolctrl/workflow/executions";
import type { Command } from "commander";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { hintDrainers } from "../hint-drainers.ts";
import type { Io } from "../io.ts";
import { addAuditOptions, type AuditOptions } from "../options/action-options.ts";
import { tenantOption, textOption } from "../options/parse-options.ts";
import { confirm } from "../output/confirm.ts";
import { count } from "../output/format-values.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";
import { actOnRun } from "../workflows/act-on-run.ts";
import { showCommand } from "../workflows/commands-to-run.ts";
import { formatRunStatus } from "../workflows/format-workflow.ts";
import { idOf } from "../workflows/id-of.ts";
import { repeatsOf, type Repeat } from "../workflows/repeats-of.ts";

interface RetryRunOptions extends AuditOptions {
  readonly tenant: string;
  readonly from: string;
  readonly yes?: boolean;
}

const AFTER_HELP = `
The step and what follows from it stand no longer: they are made anew, in a new epoch. What they did is not undone, and is done again: a second
mail, call or row. What stood before the step stays as it is.
`;

/** `workflow retry <runId>`: has an ended run repeat a step and what follows from it. */
export function registerWorkflowRetry(parent: Command, registrar: Registrar): void {
  const command = tenantOption(
    parent
      .command("retry")
      .description("have an ended run repeat a step and all that follow from it. One that has not ended is refused")
      .argument("<runId>", "id of the run"),
  )
    .requiredOption("--from <nodeId>", "the step to repeat from, as `workflow show` names it", textOption(64))
    .option("--yes", "do not ask")
    .addHelpText("after", AFTER_HELP);
  registrar.handle<RetryRunOptions>(addAuditOptions(command), async (invocation) => {
    const executionId = idOf("run", invocation.args[0]);
    return withDatabase(invocation.io, ({ pool }) => retry(pool, invocation, executionId));
  });
}

async function retry(pool: Database["pool"], { io, json, options }: Invocation<RetryRunOptions>, executionId: string): Promise<ExitCode> {
  const { readExecution, retryFrom } = await import("@toolctrl/workflow/executions");
  const { tenant: tenantId, from: nodeId, actor, reason = null, yes = false } = options;
  const key = { tenantId, executionId };
  const planned = await planOrNull(pool, await readExecution(pool, key), nodeId);
  // Nothing to change: no question; the refusal is recorded all the same.
  if (planned !== null) {
    io.err.write(`${describeRepeats(io, planned)}\n`);
    for (const repeat of planned) if (repeat.again !== null) io.err.write(`warning: ${repeat.nodeId} (${repeat.block}): ${repeat.again}\n`);
    await confirm(io, `Repeat ${count(planned.length, "step")} of run ${executionId}?`, { yes, bulk: false });
  }
  const { actionId, before, result } = await actOnRun(pool, {
    key,
    audit: { action: "workflow.retry", actor, reason },
    async act(tx, run) {
      const repeated = await repeatsOf(tx, run, nodeId);
      const { retryEpoch } = await retryFrom(tx, { ...key, nodeId });
      return { from: nodeId, retryEpoch, repeated: repeated.map((repeat) => ({ ...repeat })) };
    },
  });
  await hintDrainers(pool);
  const { retryEpoch, repeated } = result;
  writeResult(io, json, { action: "workflow.retry", actionId, ...key, was: before.status, ...result }, () =>
    [
      `Run ${executionId} repeats ${count(repeated.length, "step")} from ${nodeId} on, in epoch ${retryEpoch}.`,
      `follow it with \`${showCommand(key)}\``,
    ].join("\n"),
  );
  return EXIT.ok;
}

/** What would be repeated, or null for a run whose status does not allow it. */
async function planOrNull(db: Queryable, run: ExecutionView, nodeId: string): Promise<Repeat[] | null> {
  try {
    return await repeatsOf(db, run, nodeId);
  } catch (error) {
    if (isCodedError(error) && error.code === "WORKFLOW.STATE") return null;
    throw error;
  }
}

function describeRepeats(io: Io, repeats: readonly Repeat[]): string {
  const rows = repeats.map(({ nodeId, block, iteration, status }) => [nodeId, block, String(iteration), formatRunStatus(io, status)]);
  return [`${count(repeats.length, "step")} to repeat:`, table(io, ["NODE", "BLOCK", "TURN", "WAS"], rows)].join("\n");
}
