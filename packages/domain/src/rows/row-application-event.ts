import type { NewApplicationEvent } from "../events-service/application-event.ts";
import { recordIdOf, snapshotsOf, type PublishedChange } from "./row-event.ts";
import type { RowEventContext } from "./row.ts";

/** `row.created`, `row.updated` or `row.deleted`: the same change as its `record.` event tells it, for people and workflows. */
export function rowApplicationEvent(change: PublishedChange, event: RowEventContext | undefined): NewApplicationEvent {
  const { tenantId, table, kind } = change;
  return { tenantId, type: `row.${kind}`, object: table, recordId: recordIdOf(change), data: snapshotsOf(change), source: "row", event };
}
