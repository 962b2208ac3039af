import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";
import { eventContextOf } from "../runner/event-context.ts";
import { renderHtml, renderText } from "../templates.ts";
import type { BlockEnd, BlockRun } from "./block-run.ts";

/**
 * Publishes the mail in the step's transaction: it is there when the step is.
 *
 * The templates are rendered here, within the run's limits. The event carries the texts as data: rendered once more as templates, a
 * customer's `{{` would be one.
 */
export async function runEmail({ tx, execution, node, variables }: BlockRun<"email">): Promise<BlockEnd> {
  const { to, replyTo, subject, text, html } = node.config;
  const render = (template: string): string => renderText(template, variables);
  const recipients = (typeof to === "string" ? [to] : to).map(render);
  const { id } = await publishOutboxEvent(outboxTransactionOf(tx), {
    ...eventContextOf(execution),
    tenantId: execution.tenantId,
    type: "mail.message.send",
    payload: {
      to: recipients,
      ...(replyTo === undefined ? {} : { replyTo: render(replyTo) }),
      subject: "{{ subject }}",
      ...(text === undefined ? {} : { text: "{{ text }}" }),
      ...(html === undefined ? {} : { html: "{{ html | raw }}" }),
      data: {
        subject: render(subject),
        ...(text === undefined ? {} : { text: render(text) }),
        ...(html === undefined ? {} : { html: renderHtml(html, variables) }),
      },
    },
  });
  return { kind: "done", branch: "next", output: { eventId: id, to: recipients } };
}
