import { outboxTransactionOf } from "@toolctrl/db/outbox";
import { rowCreate, rowDelete, rowUpdate, type Row } from "@toolctrl/domain/rows";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import { storableText } from "@toolctrl/foundation/text";
import { eventContextOf } from "../runner/event-context.ts";
import type { LockedExecution } from "../executions/lock-execution.ts";
import type { RunVariables } from "../runner/variables.ts";
import { renderJson, renderText } from "../templates.ts";
import type { BlockEnd, BlockRun } from "./block-run.ts";

export async function runRowCreate({ tx, execution, node, variables }: BlockRun<"rowCreate">): Promise<BlockEnd> {
  const { table, parent } = node.config;
  const { row } = await rowCreate(outboxTransactionOf(tx), {
    ...originOf(execution),
    table,
    data: dataOf(node.config.data, variables),
    parent: parent === undefined ? undefined : { table: parent.table, id: renderText(parent.id, variables) },
  });
  return done(outputOf(row));
}

export async function runRowUpdate({ tx, execution, node, variables }: BlockRun<"rowUpdate">): Promise<BlockEnd> {
  const { table, id } = node.config;
  const { row } = await rowUpdate(outboxTransactionOf(tx), {
    ...originOf(execution),
    table,
    id: renderText(id, variables),
    data: dataOf(node.config.data, variables),
  });
  return done(outputOf(row));
}

export async function runRowDelete({ tx, execution, node, variables }: BlockRun<"rowDelete">): Promise<BlockEnd> {
  const { table, id } = node.config;
  const deleted = await rowDelete(outboxTransactionOf(tx), { ...originOf(execution), table, id: renderText(id, variables) });
  return done({ deleted: deleted.length });
}

/** A row that a run writes publishes events as a person's does, but calls nobody outside. */
function originOf(execution: LockedExecution) {
  return {
    tenantId: execution.tenantId,
    event: eventContextOf(execution),
    context: { kind: "workflow", executionId: execution.id } as const,
  };
}

function dataOf(template: JsonObject, variables: RunVariables): JsonObject {
  const data = renderJson(template, variables);
  if (typeof data === "object" && data !== null && !Array.isArray(data)) return data;
  throw new CodedError("WORKFLOW.TEMPLATE", `expected the data to be an object, got ${storableText(JSON.stringify(data), 80)}`);
}

function outputOf({ id, revision, data }: Row): JsonObject {
  return { id, revision, data };
}

function done(output: JsonValue): BlockEnd {
  return { kind: "done", branch: "next", output };
}
