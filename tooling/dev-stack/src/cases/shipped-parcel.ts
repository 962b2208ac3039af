import { transaction, type Database } from "@toolctrl/db/client";
import { rowCreate } from "@toolctrl/domain/rows";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { createWorkflow, listWorkflows, switchWorkflow } from "@toolctrl/workflow/definitions";
import type { SampleCase } from "../sample-case.ts";

/** What a tenant wants to happen when a parcel is shipped: its customer gets a mail, and the parcel a line in the journal. */
const SHIPPED: WorkflowDefinitionInput = {
  name: "A parcel is on its way",
  trigger: { type: "row", table: "parcel", on: ["created"], condition: "trigger.data.after.data.state == 'shipped'" },
  start: "tell",
  nodes: [
    {
      id: "tell",
      block: "email",
      config: {
        to: "customer@example.com",
        subject: "Your parcel {{ trigger.data.after.data.key }} is on its way",
        text: "Hello {{ trigger.data.after.data.name }}.",
      },
    },
    { id: "note", block: "rowCreate", config: { table: "journal", data: { parcel: "{{ trigger.data.after.data.key }}" } } },
  ],
  edges: [
    { from: "tell", to: "note" },
    { from: "note", to: null },
  ],
};

/** The workflow of a tenant. */
export async function prepareWorkflow({ pool }: Database, tenantId: string): Promise<void> {
  await transaction(pool, async (tx) => {
    if ((await listWorkflows(tx, { tenantId })).some(({ name }) => name === SHIPPED.name)) return;
    const { id } = await createWorkflow(tx, { tenantId, definition: SHIPPED });
    await switchWorkflow(tx, { tenantId, workflowId: id }, true);
  });
}

/** A parcel that somebody enters as shipped: the tenant's endpoints are called, and its workflow runs. */
export const shippedParcel: SampleCase = {
  name: "shipped parcel",
  effects: { "workflow-trigger": 1, "mail-render": 1, "email-send": 1, "webhook-deliver": 1 },
  async write(tx, { tenantId, runId }, key) {
    const context = { kind: "request", actor: "user-1" } as const;
    await rowCreate(tx, {
      tenantId,
      table: "parcel",
      data: { key, name: "Ann", state: "shipped" },
      context,
      event: { correlationId: runId },
    });
    return 3;
  },
};
