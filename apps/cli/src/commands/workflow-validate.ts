import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { CodedError, describeError } from "@toolctrl/foundation/errors";
import type { NativeGap, WorkflowDefinition } from "@toolctrl/foundation/workflows";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { count } from "../output/format-values.ts";
import { writeResult } from "../output/write-result.ts";
import { formatTrigger } from "../workflows/format-workflow.ts";

const AFTER_HELP = `
Its shape and its graph are checked at once; its conditions and templates are read when those hold. No database is needed.

Examples:
  toolctrl-cli workflow validate approval.json
  jq .definition export.json | toolctrl-cli workflow validate -
`;

/** `workflow validate`: says all that is wrong with a definition. */
export function registerWorkflowValidate(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("validate")
    .description("check a definition (JSON) as saving it would: each problem with its path, and what the native executor cannot run")
    .argument("<file>", "file with the definition, or - for the standard input")
    .addHelpText("after", AFTER_HELP);
  registrar.handle(command, async ({ io, json, args }) => {
    const input = parseDefinition(await readInput(io, args[0] ?? "-"));
    const [{ checkWorkflow, nativeGapsOf }, { checkWorkflowTexts, triggerKeyOf }] = await Promise.all([
      import("@toolctrl/foundation/workflows"),
      import("@toolctrl/workflow/definitions"),
    ]);
    const definition = checkWorkflow(input);
    checkWorkflowTexts(definition);
    const { name, nodes, edges, trigger } = definition;
    const gaps = nativeGapsOf(definition);
    const found = { triggerType: trigger.type, triggerKey: triggerKeyOf(definition), nodes: nodes.length, edges: edges.length };
    writeResult(io, json, { valid: true, name, ...found, nativeGaps: gaps }, () => describe(definition, formatTrigger(found), gaps));
    return EXIT.ok;
  });
}

async function readInput(io: Io, file: string): Promise<string> {
  if (file === "-") return text(io.in);
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new CodedError("CLI.ARGUMENT", `expected a file that can be read, got ${describeError(error, 300)}`, {
      facts: { file },
      cause: error,
    });
  }
}

/** @throws CodedError `WORKFLOW.DEFINITION` */
function parseDefinition(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    const problem = { path: "", message: `expected JSON, got: ${describeError(error, 300)}` };
    throw new CodedError("WORKFLOW.DEFINITION", `expected the workflow's definition to hold, got:\n  - workflow: ${problem.message}`, {
      facts: { problems: [problem] },
      cause: error,
    });
  }
}

function describe({ name, nodes, edges }: WorkflowDefinition, trigger: string, gaps: readonly NativeGap[]): string {
  return [
    `Valid: ${JSON.stringify(name)}, trigger ${trigger}, ${count(nodes.length, "node")}, ${count(edges.length, "edge")}.`,
    ...gaps.map(({ nodeId, block, reason }) => `note: ${nodeId} (${block}): ${GAP_TEXTS[reason]}`),
  ].join("\n");
}

const GAP_TEXTS: Readonly<Record<NativeGap["reason"], string>> = {
  credential:
    "the native executor cannot run it, as it needs a stored credential: such runs are rejected. WORKFLOW_EXECUTOR=hybrid or http can",
  "wait-boundary": "the native executor does not run across it at once: the run rests there until a person or the clock moves it on",
};
