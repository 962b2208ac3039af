import { transaction, type Database } from "@toolctrl/db/client";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { createWorkflow, switchWorkflow } from "@toolctrl/workflow/definitions";

type Nodes = WorkflowDefinitionInput["nodes"];

/** Adds a workflow of a tenant that events and people may start. @returns its id */
export function addWorkflow(
  { database, tenantId }: { readonly database: Pick<Database, "pool">; readonly tenantId: string },
  definition: WorkflowDefinitionInput,
): Promise<string> {
  return transaction(database.pool, async (tx) => {
    const { id } = await createWorkflow(tx, { tenantId, definition });
    await switchWorkflow(tx, { tenantId, workflowId: id }, true);
    return id;
  });
}

/** One step after the other, to the end. */
export function chainOf(nodes: Nodes): Pick<WorkflowDefinitionInput, "start" | "nodes" | "edges"> {
  const edges = nodes.map(({ id }, index) => ({ from: id, to: nodes[index + 1]?.id ?? null }));
  return { start: nodes[0]?.id ?? "", nodes, edges };
}
