import type { JsonValue } from "@toolctrl/foundation/json";
import type { WorkflowDefinition } from "@toolctrl/foundation/workflows";
import type { ExecutionView, InputView, StepView } from "@toolctrl/workflow/executions";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { tenantOption } from "../options/parse-options.ts";
import { formatTime, shorten } from "../output/format-values.ts";
import { facts, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";
import { exampleAnswer, formatFields } from "../workflows/answer-fields.ts";
import { continueCommand } from "../workflows/commands-to-run.ts";
import { formatRunStatus, formatTrigger } from "../workflows/format-workflow.ts";
import { idOf } from "../workflows/id-of.ts";
import { nextStepOf } from "../workflows/next-step-of.ts";

/** `workflow show <runId>`: where a run is and why, its steps and what it asks. */
export function registerWorkflowShow(parent: Command, registrar: Registrar): void {
  const command = tenantOption(
    parent
      .command("show")
      .description("where a run is and why: its status, its steps, its questions and how to answer them")
      .argument("<runId>", "id of the run"),
  );
  registrar.handle<{ tenant: string }>(command, async ({ io, json, args, options }) => {
    const executionId = idOf("run", args[0]);
    return withDatabase(io, async ({ pool }) => {
      const [{ readExecution }, { loadDefinition, triggerKeyOf }] = await Promise.all([
        import("@toolctrl/workflow/executions"),
        import("@toolctrl/workflow/definitions"),
      ]);
      const run = await readExecution(pool, { tenantId: options.tenant, executionId });
      const { definition } = await loadDefinition(pool, run);
      const trigger = { triggerType: definition.trigger.type, triggerKey: triggerKeyOf(definition) };
      writeResult(io, json, { ...run, workflowName: definition.name, ...trigger }, () =>
        describe(io, run, definition, formatTrigger(trigger)),
      );
      return EXIT.ok;
    });
  });
}

function describe(io: Io, run: ExecutionView, { name }: WorkflowDefinition, trigger: string): string {
  const next = nextStepOf(run);
  return [
    facts(io, [
      ["run", run.id],
      ["tenant", run.tenantId],
      ["workflow", `${run.workflowId}, ${JSON.stringify(name)}`],
      ["version", String(run.version)],
      ["status", formatRunStatus(io, run.status)],
      ["reason", reasonOf(run)],
      ["trigger", trigger],
      ["started by", run.triggerEventId === null ? run.startedBy : `${run.startedBy}, event ${run.triggerEventId}`],
      ["epoch", String(run.retryEpoch)],
      ["created", formatTime(run.createdAt)],
      ["started", formatTime(run.startedAt)],
      ["finished", formatTime(run.finishedAt)],
    ]),
    "",
    run.steps.length === 0 ? "No step has been made." : describeSteps(io, run.steps),
    ...run.inputs.flatMap((question) => ["", describeQuestion(io, run, question)]),
    ...(next === null ? [] : ["", `next: ${next}`]),
  ].join("\n");
}

function reasonOf({ reasonCode, reason }: { readonly reasonCode: string | null; readonly reason: string | null }): string {
  return reasonCode === null ? "-" : shorten(`${reasonCode}: ${reason ?? ""}`, 500);
}

function describeSteps(io: Io, steps: readonly StepView[]): string {
  const rows = steps.map((step) => [
    step.nodeId,
    String(step.iteration),
    String(step.retryEpoch),
    step.current ? formatRunStatus(io, step.status) : `${formatRunStatus(io, step.status)}, replaced`,
    step.branch ?? "-",
    String(step.attempts),
    String(step.unknowns),
    formatTime(step.dueAt),
    step.errorCode === null ? "-" : shorten(`${step.errorCode}: ${step.error ?? ""}`, 80),
  ]);
  return table(io, ["NODE", "TURN", "EPOCH", "STATUS", "BRANCH", "ATTEMPTS", "UNKNOWNS", "DUE", "ERROR"], rows);
}

function describeQuestion(io: Io, { tenantId }: ExecutionView, question: InputView): string {
  const { id, title, assignee, status, fields, value, answeredBy, answeredAt, expiresAt } = question;
  return facts(io, [
    ["question", id],
    ["asks", shorten(title, 200)],
    ["assignee", shorten(assignee, 200)],
    ["status", status],
    ["fields", formatFields(fields)],
    ["until", formatTime(expiresAt)],
    ...(status === "open" ? [["answer with", `\`${continueCommand({ id, tenantId, value: exampleAnswer(fields) })}\``] as const] : []),
    ...(status === "submitted" ? [["answer", answerOf(value, answeredBy, answeredAt)] as const] : []),
  ]);
}

function answerOf(value: JsonValue, by: string | null, at: Date | null): string {
  return `${shorten(JSON.stringify(value), 500)} by ${by ?? "nobody named"}, ${formatTime(at)}`;
}
