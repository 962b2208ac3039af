import { z } from "zod";

/** Somebody sent a form. What they wrote stays in `FormSubmission`, the one place where it can be deleted; the event names it. */
export const formSubmissionReceivedSchema = z
  .strictObject({
    object: z.literal("submission").describe("The kind of record"),
    recordId: z.uuid().describe("The submission"),
    formId: z.uuid().describe("The form it was sent through"),
    formVersion: z.number().int().positive().describe("The version of the form that its data were checked against"),
  })
  .describe("A form was submitted; `form-route` makes its lead and publishes what the form's rules ask for.");

/** What a webhook action of a form sends, unless the rule names another event type. */
export const formSubmittedWebhookSchema = z
  .strictObject({
    formId: z.uuid().describe("The form"),
    formName: z.string().min(1).max(200).describe("What the form is called"),
    submissionId: z.uuid().describe("The submission"),
    submittedAt: z.iso.datetime().describe("When it was sent, ISO 8601 in UTC"),
    leadId: z.uuid().nullable().describe("The lead it belongs to; null where no rule makes one"),
    data: z.record(z.string(), z.json()).describe("What was sent, by field"),
  })
  .describe("A form was submitted, for the tenant's webhook endpoints; sent by a rule of the form.");
