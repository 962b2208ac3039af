import type { NewApplicationEvent } from "../events-service/application-event.ts";
import type { RowEventContext } from "../rows/row.ts";
import type { Form, FormSubmission } from "./form.ts";
import { webhookPayload } from "./webhook-payload.ts";

const TYPE = "form.submitted";

/**
 * `form.submitted`, about the form: that is what workflows are looked up by. Where a rule of the form calls the tenant's endpoints with
 * this type, when and with what is up to the rule: they are not to hear of one submission twice.
 */
export function submittedEvent(form: Form, submission: FormSubmission, event: RowEventContext | undefined): NewApplicationEvent {
  const { id: recordId, tenantId, data } = submission;
  const byRule = form.routes.some(({ actions }) =>
    actions.some((action) => action.type === "webhook" && action.event === `webhook.${TYPE}`),
  );
  const webhook = byRule ? null : webhookPayload({ form, submission, leadId: null });
  return { tenantId, type: TYPE, object: form.id, recordId, data, source: "form", event, webhook };
}
