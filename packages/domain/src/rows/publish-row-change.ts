import { publishOutboxEvent, type OutboxTransaction } from "@toolctrl/db/outbox";
import type { EventContext } from "../events-service/event-context.ts";
import { publishApplicationEvents } from "../events-service/publish-application-events.ts";
import { rowApplicationEvent } from "./row-application-event.ts";
import { rowEvent, type PublishedChange } from "./row-event.ts";
import type { RowEventContext } from "./row.ts";

/** Where a change of a row comes from. */
export interface RowChangeOrigin {
  /** For the events that tell of it. */
  readonly event?: RowEventContext | undefined;
  /** What makes it; with it the change is an application event too. */
  readonly context?: EventContext | undefined;
}

/**
 * Publishes a change of a row that is locked and written: its `record.` event, then, of a request or a workflow, its application event.
 * @returns the id of the `record.` event
 */
export async function publishRowChange(
  tx: OutboxTransaction,
  change: PublishedChange,
  { event, context }: RowChangeOrigin,
): Promise<string> {
  const { id } = await publishOutboxEvent(tx, rowEvent(change, event));
  if (context !== undefined) await publishApplicationEvents(tx, [rowApplicationEvent(change, event)], context);
  return id;
}
