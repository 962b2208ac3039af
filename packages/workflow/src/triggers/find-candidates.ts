import type { Queryable } from "@toolctrl/db/sql";
import { loadDefinition } from "../definitions/load-definition.ts";
import type { Candidate } from "./preflight.ts";
import { inputOf, lookupKeysOf, type TriggerEvent } from "./trigger-event.ts";

export interface TriggeredWorkflow extends Candidate {
  readonly workflowId: string;
  readonly version: number;
}

/**
 * The live workflows of a tenant that an event may start, in the order in which they were made.
 * Index: `Workflow_trigger_idx`. Takes no lock: a workflow that is switched off meanwhile was live when this looked.
 */
export async function findCandidates(db: Queryable, event: TriggerEvent): Promise<TriggeredWorkflow[]> {
  const { rows } = await db.query<{ workflowId: string; version: number }>(
    `SELECT "id"::text AS "workflowId", "version" FROM "Workflow"
     WHERE "live" AND "tenantId" = $1 AND "triggerType" = $2 AND "triggerKey" = ANY ($3::text[]) ORDER BY "id"`,
    [event.tenantId, event.source, lookupKeysOf(event)],
  );
  const found: TriggeredWorkflow[] = [];
  for (const row of rows) {
    const { definition } = await loadDefinition(db, row);
    const { trigger } = definition;
    if (trigger.type === "row" && !trigger.on.some((kind) => event.eventType === `row.${kind}`)) continue;
    found.push({ ...row, definition, input: inputOf(event), depth: event.depth });
  }
  return found;
}
