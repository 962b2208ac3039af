import { publishOutboxEvents, type OutboxTransaction } from "@toolctrl/db/outbox";
import { withoutNotifications, type EventContext } from "../events-service/event-context.ts";
import { publishApplicationEvents } from "../events-service/publish-application-events.ts";
import type { RowChangeOrigin } from "./publish-row-change.ts";
import { rowApplicationEvent } from "./row-application-event.ts";
import { recordIdOf, rowEvent, type PublishedChange } from "./row-event.ts";
import type { RowEventContext } from "./row.ts";

/** Rows of 256 KiB each: two events of their size for each, and what one statement publishes stays below its limit. */
const ROWS_PER_STATEMENT = 50;

type Deletion = PublishedChange & { readonly cascadeRootId: string };

/**
 * Publishes the deletion of some rows of one cascade: their `record.` events in one statement, then, of a request or a workflow, their
 * application events.
 * @returns the ids of the `record.` events, in the order of the rows
 */
export async function publishDeletedRows(
  tx: OutboxTransaction,
  deletions: readonly Deletion[],
  { event, context }: RowChangeOrigin,
): Promise<string[]> {
  const published = await publishOutboxEvents(
    tx,
    deletions.map((deletion) => rowEvent(deletion, event)),
  );
  if (context !== undefined) await publishHappened(tx, deletions, event, context);
  return published.map(({ id }) => id);
}

// Of the row that was to be deleted people are notified, not of each that went with it.
async function publishHappened(
  tx: OutboxTransaction,
  deletions: readonly Deletion[],
  event: RowEventContext | undefined,
  context: EventContext,
): Promise<void> {
  const isRoot = (deletion: Deletion): boolean => recordIdOf(deletion) === deletion.cascadeRootId;
  const happened = (some: readonly Deletion[]) => some.map((deletion) => rowApplicationEvent(deletion, event));
  const below = deletions.filter((deletion) => !isRoot(deletion));
  for (let start = 0; start < below.length; start += ROWS_PER_STATEMENT) {
    const part = below.slice(start, start + ROWS_PER_STATEMENT);
    await publishApplicationEvents(tx, happened(part), withoutNotifications(context));
  }
  await publishApplicationEvents(tx, happened(deletions.filter(isRoot)), context);
}
