import { assertNever } from "@toolctrl/foundation/errors";
import type { WorkflowDefinition } from "@toolctrl/foundation/workflows";

export interface WorkflowKey {
  readonly tenantId: string;
  readonly workflowId: string;
}

/** A tenant's workflow, as its newest version says. */
export interface Workflow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly version: number;
  /** Whether events and people may start it. */
  readonly live: boolean;
  readonly triggerType: WorkflowDefinition["trigger"]["type"];
  /** The table, form or event type that starts it; null for a person. */
  readonly triggerKey: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The columns of a {@link Workflow}, for SELECT and RETURNING. */
export const WORKFLOW_COLUMNS = `"id"::text AS "id", "tenantId", "name", "version", "live", "triggerType", "triggerKey", "createdAt", "updatedAt"`;

/** What the trigger of a definition is looked up by. */
export function triggerKeyOf({ trigger }: Pick<WorkflowDefinition, "trigger">): string | null {
  switch (trigger.type) {
    case "manual":
      return null;
    case "row":
      return trigger.table;
    case "form":
      return trigger.formId;
    case "event":
      return trigger.eventType;
    default:
      return assertNever(trigger);
  }
}
