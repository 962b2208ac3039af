import type { Database } from "@toolctrl/db/client";
import type { Command } from "commander";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { hintDrainers } from "../hint-drainers.ts";
import { addAuditOptions, type AuditOptions } from "../options/action-options.ts";
import { tenantOption } from "../options/parse-options.ts";
import { confirm } from "../output/confirm.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";
import { actOnRun } from "../workflows/act-on-run.ts";
import { showCommand } from "../workflows/commands-to-run.ts";
import { idOf } from "../workflows/id-of.ts";

interface CancelRunOptions extends AuditOptions {
  readonly tenant: string;
  readonly yes?: boolean;
}

/** `workflow cancel <runId>`: ends a run where it is. */
export function registerWorkflowCancel(parent: Command, registrar: Registrar): void {
  const command = tenantOption(
    parent
      .command("cancel")
      .description("end a run where it is: no further step runs and its questions close. One that has ended is refused")
      .argument("<runId>", "id of the run"),
  ).option("--yes", "do not ask");
  registrar.handle<CancelRunOptions>(addAuditOptions(command), async (invocation) => {
    const executionId = idOf("run", invocation.args[0]);
    return withDatabase(invocation.io, ({ pool }) => cancel(pool, invocation, executionId));
  });
}

async function cancel(pool: Database["pool"], { io, json, options }: Invocation<CancelRunOptions>, executionId: string): Promise<ExitCode> {
  const [{ cancelExecution, readExecution }, { isTerminal }] = await Promise.all([
    import("@toolctrl/workflow/executions"),
    import("@toolctrl/foundation/workflows"),
  ]);
  const { tenant: tenantId, actor, reason = null, yes = false } = options;
  const key = { tenantId, executionId };
  const run = await readExecution(pool, key);
  const calling = run.steps.filter(({ current, status }) => current && status === "calling").map(({ nodeId }) => nodeId);
  if (calling.length > 0) io.err.write(`warning: ${calling.join(", ")}: a call is on its way, and is not taken back\n`);
  // Nothing to change: no question; the refusal is recorded all the same.
  if (!isTerminal(run.status)) await confirm(io, `Cancel run ${executionId}, which is ${run.status}?`, { yes, bulk: false });
  const { actionId, before } = await actOnRun(pool, {
    key,
    audit: { action: "workflow.cancel", actor, reason },
    act: async (tx) => {
      await cancelExecution(tx, key);
      return {};
    },
  });
  await hintDrainers(pool);
  writeResult(io, json, { action: "workflow.cancel", actionId, ...key, from: before.status, status: "cancelled" }, () =>
    [`Cancelled run ${executionId}, which was ${before.status}.`, `next: \`${showCommand(key)}\``].join("\n"),
  );
  return EXIT.ok;
}
