import type { Database } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import type { ExecutionStatus } from "@toolctrl/foundation/workflows";
import type { Workflow } from "@toolctrl/workflow/definitions";
import type { Execution } from "@toolctrl/workflow/executions";
import type { Command } from "commander";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { integerOption, tenantOption, textOption } from "../options/parse-options.ts";
import { formatTime, shorten } from "../output/format-values.ts";
import { shellWord } from "../output/shell-word.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";
import { formatRunStatus, formatTrigger } from "../workflows/format-workflow.ts";
import { idOf } from "../workflows/id-of.ts";
import { takePages } from "../workflows/take-pages.ts";

interface ListOptions {
  readonly tenant: string;
  readonly runs?: boolean;
  readonly status?: string;
  readonly workflow?: string;
  readonly limit: number;
}

/** `workflow list`: a tenant's workflows, or its runs. */
export function registerWorkflowList(parent: Command, registrar: Registrar): void {
  const command = tenantOption(
    parent.command("list").description("a tenant's workflows in the order in which they were made; with --runs its runs, newest first"),
  )
    .option("--runs", "list runs")
    .option(
      "--status <status>",
      "only runs of this status: queued, running, waiting, success, error, rejected, skipped or cancelled; with --runs",
      textOption(20),
    )
    .option("--workflow <id>", "only runs of this workflow; with --runs", textOption(200))
    .option("--limit <n>", "at most this many", integerOption(1, 10_000), 50);
  registrar.handle<ListOptions>(command, async (invocation) => {
    const { runs = false, status, workflow } = invocation.options;
    if (!runs && (status !== undefined || workflow !== undefined)) {
      throw new CodedError("CLI.ARGUMENT", "expected --status and --workflow together with --runs, got them without it");
    }
    if (!runs) return withDatabase(invocation.io, ({ pool }) => listWorkflows(pool, invocation));
    const filter = { status: await runStatusOf(status), workflowId: workflow === undefined ? undefined : idOf("workflow", workflow) };
    return withDatabase(invocation.io, ({ pool }) => listRuns(pool, invocation, filter));
  });
}

/** @throws CodedError `CLI.ARGUMENT` */
async function runStatusOf(text: string | undefined): Promise<ExecutionStatus | undefined> {
  if (text === undefined) return undefined;
  const { EXECUTION_STATUSES } = await import("@toolctrl/foundation/workflows");
  const status = EXECUTION_STATUSES.find((name) => name === text.trim().toLowerCase());
  if (status !== undefined) return status;
  throw new CodedError("CLI.ARGUMENT", `expected --status to be one of ${EXECUTION_STATUSES.join(", ")}, got ${JSON.stringify(text)}`);
}

async function listWorkflows(pool: Database["pool"], { io, json, options }: Invocation<ListOptions>): Promise<ExitCode> {
  const definitions = await import("@toolctrl/workflow/definitions");
  const { tenant: tenantId, limit } = options;
  const { rows, more } = await takePages(limit, (after) => definitions.listWorkflows(pool, { tenantId, after: after ?? null }));
  writeResult(io, json, { workflows: rows, more }, () => describeWorkflows(io, options, rows, more));
  return EXIT.ok;
}

async function listRuns(
  pool: Database["pool"],
  { io, json, options }: Invocation<ListOptions>,
  filter: { readonly status: ExecutionStatus | undefined; readonly workflowId: string | undefined },
): Promise<ExitCode> {
  const { listExecutions } = await import("@toolctrl/workflow/executions");
  const { tenant: tenantId, limit } = options;
  const { rows, more } = await takePages(limit, (before) => listExecutions(pool, { tenantId, ...filter, before }));
  const runs = rows.map(({ input: _input, ...run }) => run);
  writeResult(io, json, { runs, more }, () => describeRuns(io, options, runs, more));
  return EXIT.ok;
}

function describeWorkflows(io: Io, { tenant }: ListOptions, workflows: readonly Workflow[], more: boolean): string {
  if (workflows.length === 0) return `Tenant ${tenant} has no workflow.`;
  const rows = workflows.map((workflow) => [
    workflow.id,
    shorten(workflow.name, 60),
    String(workflow.version),
    workflow.live ? "yes" : "no",
    formatTrigger(workflow),
  ]);
  return [
    table(io, ["ID", "NAME", "VERSION", "LIVE", "TRIGGER"], rows),
    "",
    more ? "There are more: raise --limit." : `next: \`toolctrl-cli workflow list --tenant ${shellWord(tenant)} --runs\``,
  ].join("\n");
}

function describeRuns(io: Io, { tenant }: ListOptions, runs: ReadonlyArray<Omit<Execution, "input">>, more: boolean): string {
  if (runs.length === 0) return `No run matches. \`toolctrl-cli workflow list --tenant ${shellWord(tenant)}\` lists the workflows.`;
  const rows = runs.map((run) => [
    run.id,
    formatRunStatus(io, run.status),
    run.workflowId,
    String(run.version),
    run.startedBy,
    formatTime(run.createdAt),
    formatTime(run.finishedAt),
    shorten(run.reasonCode, 40),
  ]);
  return [
    table(io, ["ID", "STATUS", "WORKFLOW", "VERSION", "STARTED BY", "CREATED", "FINISHED", "REASON"], rows),
    "",
    more
      ? "There are more: narrow with --status or --workflow, or raise --limit."
      : `next: \`toolctrl-cli workflow show <id> --tenant ${shellWord(tenant)}\``,
  ].join("\n");
}
