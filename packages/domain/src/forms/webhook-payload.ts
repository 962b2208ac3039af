import type { JsonObject } from "@toolctrl/foundation/json";
import type { Form, FormSubmission } from "./form.ts";

/** What a tenant's webhook endpoints get of a submission: the payload of `webhook.form.submitted`. */
export function webhookPayload(from: {
  readonly form: Pick<Form, "id" | "name">;
  readonly submission: FormSubmission;
  readonly leadId: string | null;
}): JsonObject {
  const { form, submission, leadId } = from;
  const { id, submittedAt, data } = submission;
  return { formId: form.id, formName: form.name, submissionId: id, submittedAt: submittedAt.toISOString(), leadId, data };
}
