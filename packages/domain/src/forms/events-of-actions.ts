import type { OutboxEventInput } from "@toolctrl/db/outbox";
import { assertNever, CodedError, isCodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import { storableText } from "@toolctrl/foundation/text";
import { parseAddress } from "../emails/parse-address.ts";
import { renderTemplate } from "../emails/render-template.ts";
import type { DueAction } from "./apply-rules.ts";
import type { Form, FormSubmission } from "./form.ts";
import type { RouteAction } from "./route-schema.ts";
import { webhookPayload } from "./webhook-payload.ts";

type Mail = Extract<RouteAction, { type: "mail" }>;
type Notification = Extract<RouteAction, { type: "notification" }>;

const MAX_TITLE_LENGTH = 500;
const MAX_BODY_LENGTH = 20_000;

/** What the events of a submission are made of. */
export interface Routing {
  readonly form: Pick<Form, "id" | "name">;
  readonly submission: FormSubmission;
  readonly leadId: string | null;
  /** Above 0 for a deliberate repeat, whose events are new ones. */
  readonly effectEpoch: number;
}

export type RoutedEvent = Pick<OutboxEventInput, "type" | "dispatchKey"> & { readonly payload: JsonObject };

/**
 * The events that the actions of a submission ask for, sorted by their dispatch keys, which are the same on every try. An action without
 * anybody to tell, as its field was left empty, has none.
 * @throws CodedError `FORM.ROUTE` naming rule and action, never a value: a recipient that is not one plain address, a template that does
 * not render
 */
export function eventsOfActions(actions: readonly DueAction[], routing: Routing): RoutedEvent[] {
  const { submission, effectEpoch } = routing;
  const epoch = effectEpoch === 0 ? "" : `:${effectEpoch}`;
  const events = actions.flatMap((due) => {
    const message = messageOf(due, routing);
    return message === null ? [] : [{ ...message, dispatchKey: `form-route:${submission.id}:${due.ruleId}:${due.place}${epoch}` }];
  });
  return events.sort((a, b) => (a.dispatchKey < b.dispatchKey ? -1 : 1));
}

function messageOf(due: DueAction, routing: Routing): Omit<RoutedEvent, "dispatchKey"> | null {
  const { action } = due;
  try {
    switch (action.type) {
      case "lead":
        return null;
      case "mail":
        return mailOf(action, routing);
      case "webhook":
        return { type: action.event, payload: webhookPayload(routing) };
      case "notification":
        return { type: "notification.message.create", payload: notificationPayload(action, routing) };
      default:
        return assertNever(action);
    }
  } catch (error) {
    if (!isCodedError(error)) throw error;
    const { ruleId, place } = due;
    throw new CodedError("FORM.ROUTE", `expected action ${place} of rule ${ruleId}, a ${action.type}, to be usable: ${error.message}`, {
      facts: { ruleId, place, action: action.type, cause: error.code },
      cause: error,
    });
  }
}

/** What templates see. */
function templateData({ form, submission, leadId }: Routing): JsonObject {
  const { id, submittedAt, data } = submission;
  return { form: { id: form.id, name: form.name }, submission: { id, submittedAt: submittedAt.toISOString() }, leadId, data };
}

// Rendered by mail-render, as any mail; here only whom it goes to is decided.
function mailOf(action: Mail, routing: Routing): Omit<RoutedEvent, "dispatchKey"> | null {
  const { data } = routing.submission;
  const to = recipientsOf(action.to, data);
  if (to.length === 0) return null;
  const [replyTo] = action.replyTo === undefined ? [] : recipientsOf(action.replyTo, data);
  const { subject, text, html } = action;
  const optional = { replyTo, text, html };
  const payload: JsonObject = { to, subject, data: templateData(routing) };
  for (const [name, value] of Object.entries(optional)) if (value !== undefined) payload[name] = value;
  return { type: "mail.message.send", payload };
}

function recipientsOf(to: Mail["to"], data: JsonObject): string[] {
  if (typeof to === "string") return [to];
  if (Array.isArray(to)) return to;
  const value = Object.hasOwn(data, to.field) ? data[to.field] : undefined;
  return typeof value === "string" ? [parseAddress(value.trim(), to.field)] : [];
}

function notificationPayload(action: Notification, routing: Routing): JsonObject {
  const data = templateData(routing);
  const render = (template: string, field: string, max: number): string =>
    storableText(renderTemplate(template, data, { field, target: "text" }).trim(), max);
  const title = render(action.title, "title", MAX_TITLE_LENGTH);
  return {
    recipientId: action.recipientId,
    title: title === "" ? routing.form.name : title,
    body: render(action.body, "body", MAX_BODY_LENGTH),
  };
}
