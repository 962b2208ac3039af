import { transaction, type Database } from "@toolctrl/db/client";
import { createForm } from "@toolctrl/domain/forms";
import type { EventContext } from "@toolctrl/domain/events-service";
import { createWorkflow, listWorkflows, switchWorkflow, updateWorkflow } from "@toolctrl/workflow/definitions";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import type { Sinks } from "./sinks.ts";
import { DIGEST, leadIntake, orderStatus } from "./workflows.ts";

export const DEMO_FORM = "Ask for a demo";

/** Whose requests the sample product serves. */
export const REQUEST: EventContext = { kind: "request", actor: "user-1" };

/** Sets a tenant's workflows live. The shop that one of them calls listens on a new port each time, so they get a new version each time. */
export async function prepareWorkflows(database: Database, sinks: Sinks, tenantId: string): Promise<void> {
  const formId = await demoFormOf(database, tenantId);
  for (const definition of [leadIntake(formId), orderStatus(sinks.shopUrl), DIGEST]) await setLive(database, tenantId, definition);
}

async function setLive({ pool }: Database, tenantId: string, definition: WorkflowDefinitionInput): Promise<void> {
  await transaction(pool, async (tx) => {
    const known = (await listWorkflows(tx, { tenantId })).find(({ name }) => name === definition.name);
    if (known !== undefined) return updateWorkflow(tx, { tenantId, workflowId: known.id }, definition);
    const { id } = await createWorkflow(tx, { tenantId, definition });
    return switchWorkflow(tx, { tenantId, workflowId: id }, true);
  });
}

async function demoFormOf({ prisma }: Database, tenantId: string): Promise<string> {
  const known = await prisma.form.findFirst({ where: { tenantId, name: DEMO_FORM }, select: { id: true } });
  if (known !== null) return known.id;
  const { id } = await prisma.$transaction((tx) =>
    createForm(tx, {
      tenantId,
      name: DEMO_FORM,
      fields: [
        { kind: "text", name: "fullName", required: true },
        { kind: "email", name: "email", required: true },
        { kind: "number", name: "seats" },
      ],
      routes: [],
    }),
  );
  return id;
}
