import type { Queryable } from "@toolctrl/db/sql";
import { checkWorkflow, graphOf, type WorkflowDefinition, type WorkflowGraph } from "@toolctrl/foundation/workflows";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";

export interface LoadedDefinition {
  readonly definition: WorkflowDefinition;
  readonly graph: WorkflowGraph;
}

/** Versions never change, so what was read once holds. Of so many at most: a process that serves every tenant must not keep all of them. */
const REMEMBERED = 200;
const remembered = new Map<string, LoadedDefinition>();

/**
 * The definition of one version, checked. Index: the primary key.
 * @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.DEFINITION`
 */
export async function loadDefinition(
  db: Queryable,
  { workflowId, version }: { readonly workflowId: string; readonly version: number },
): Promise<LoadedDefinition> {
  const key = `${workflowId} ${version}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const { rows } = await db.query<{ definition: JsonValue }>(
    `SELECT "definition" FROM "WorkflowVersion" WHERE "workflowId" = $1::uuid AND "version" = $2`,
    [workflowId, version],
  );
  if (rows[0] === undefined) {
    throw new CodedError("WORKFLOW.NOT_FOUND", `expected version ${version} of workflow ${workflowId}, got none`, {
      facts: { workflowId, version },
    });
  }
  const definition = checkWorkflow(rows[0].definition);
  const loaded = { definition, graph: graphOf(definition) };
  if (remembered.size >= REMEMBERED) remembered.delete(remembered.keys().next().value ?? key);
  remembered.set(key, loaded);
  return loaded;
}
