import type { Queryable } from "@toolctrl/db/sql";
import type { JsonObject } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";

/** An operator's action, to be written in the transaction that carries it out. */
export interface NewAction {
  readonly actor: string;
  readonly action: "requeue" | "replay" | "cancel" | "skip" | "workflow.cancel" | "workflow.retry";
  readonly reason: string | null;
  readonly params: JsonObject;
  /** The events that were changed. */
  readonly eventIds: readonly string[];
  /** How many were changed of what the action is about, where that is no event. */
  readonly affected?: number;
}

/** Writes the audit row of an action. @returns its id. */
export async function recordAction(tx: Queryable, action: NewAction): Promise<string> {
  const id = uuidv7();
  await tx.query(
    `INSERT INTO "OutboxAction" ("id", "actor", "action", "reason", "params", "eventIds", "affected")
     VALUES ($1, $2, $3, $4, $5::jsonb, $6::uuid[], coalesce($7::int, cardinality($6::uuid[])))`,
    [id, action.actor, action.action, action.reason, JSON.stringify(action.params), action.eventIds, action.affected ?? null],
  );
  return id;
}
