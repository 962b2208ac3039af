import { publishOutboxEvents, type OutboxTransaction } from "@toolctrl/db/outbox";
import { uuidv7 } from "uuidv7";
import type { NewApplicationEvent } from "./application-event.ts";
import type { EventContext } from "./event-context.ts";
import { eventsOf } from "./events-of.ts";
import { insertApplicationEvents } from "./insert-application-events.ts";

/** An application event, and the event that may start workflows. */
export interface PublishedApplicationEvent {
  readonly id: string;
  readonly eventId: string;
}

/**
 * Publishes application events of one context: their events in one statement, then their rows in another one. The events come first, as
 * publishing checks all that either has before any SQL.
 *
 * Locks: the lines of their records. Limits: those of `publishOutboxEvents`, 1000 events and 32 MiB; of a request each takes two
 * events of its size, and one for each who is notified.
 * @throws what `publishOutboxEvents` throws
 */
export async function publishApplicationEvents(
  tx: OutboxTransaction,
  happened: readonly NewApplicationEvent[],
  context: EventContext,
): Promise<PublishedApplicationEvent[]> {
  if (happened.length === 0) return [];
  const rows = happened.map(({ tenantId, type, object, recordId, data }) => {
    return { id: uuidv7(), tenantId, type, object, recordId, actor: actorOf(context), source: context.kind, data };
  });
  const lists = happened.map((each, index) => eventsOf(rows[index]?.id ?? "", each, context));
  const published = await publishOutboxEvents(tx, lists.flat());
  await insertApplicationEvents(tx, rows);
  let place = 0;
  return lists.map((list, index) => {
    const first = published[place];
    place += list.length;
    return { id: rows[index]?.id ?? "", eventId: first?.id ?? "" };
  });
}

function actorOf(context: EventContext): string {
  return context.kind === "request" ? context.actor : context.executionId;
}
