import type { OutboxEventInput } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { titleOfEventType } from "../notifications/notification-for.ts";
import type { NewApplicationEvent } from "./application-event.ts";
import type { EventContext } from "./event-context.ts";

/** Of a request: who sent it, and whom to tell. */
type Request = Extract<EventContext, { kind: "request" }>;

/**
 * The events that tell of an application event, in their order: the one that may start workflows; of a request then the webhook call-out
 * and the notifications.
 */
export function eventsOf(id: string, happened: NewApplicationEvent, context: EventContext): OutboxEventInput[] {
  const { tenantId, event } = happened;
  const messages = [triggerOf(happened), ...(context.kind === "request" ? toldOf(id, happened, context) : [])];
  return messages.map((message) => ({ ...event, ...message, tenantId }));
}

type Message = Pick<OutboxEventInput, "type"> & { readonly payload: JsonObject };

// Its `object` and `recordId` put it into the record's line: runs of one record are started in the order of its changes.
function triggerOf({ type: eventType, object, recordId, data, source }: NewApplicationEvent): Message {
  return { type: "workflow.trigger.event", payload: { source, eventType, object, recordId, data } };
}

function toldOf(id: string, happened: NewApplicationEvent, { actor, notify = [] }: Request): Message[] {
  const { type, object, recordId, data, webhook = { eventId: id, record: { object, id: recordId }, data } } = happened;
  const body = `${object}/${recordId} by ${actor}`;
  // Neither stands in the record's line: the order of call-outs is promised to nobody, and none is to hold up what the record does.
  return [
    ...(webhook === null ? [] : [{ type: `webhook.${type}`, payload: webhook }]),
    ...Array.from(new Set(notify), (recipientId) => ({
      type: "notification.message.create",
      payload: { recipientId, title: titleOfEventType(type), body },
    })),
  ];
}
