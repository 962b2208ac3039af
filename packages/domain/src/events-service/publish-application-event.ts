import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import type { NewApplicationEvent } from "./application-event.ts";
import { checkEventContext, type EventContext } from "./event-context.ts";
import { publishApplicationEvents, type PublishedApplicationEvent } from "./publish-application-events.ts";

export type { PublishedApplicationEvent } from "./publish-application-events.ts";

/**
 * Tells of something that happened, in the caller's transaction: writes its row of `"ApplicationEvent"` and publishes
 * `workflow.trigger.event`; of a request also `webhook.<type>` and a `notification.message.create` for each id of `notify`. None of it is
 * there before the commit, and all of it then. Write the record first, or lock it.
 *
 * @throws CodedError `PUBLISH.ROOT_CLIENT`, `PUBLISH.ARGUMENT`, `PUBLISH.EVENT_TYPE`, `PUBLISH.PAYLOAD_NOT_JSON`,
 * `PUBLISH.PAYLOAD_TOO_LARGE`, `PUBLISH.PAYLOAD_SCHEMA`; all before any SQL
 */
export async function publishApplicationEvent(
  tx: OutboxTransaction,
  happened: NewApplicationEvent,
  context: EventContext,
): Promise<PublishedApplicationEvent> {
  assertOutboxTransaction(tx);
  checkEventContext(context);
  const [published] = await publishApplicationEvents(tx, [happened], context);
  if (published === undefined) throw new TypeError("expected an event to be published, got none");
  return published;
}
