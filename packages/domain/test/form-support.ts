import type { FormFieldInput, FormSubmission, RouteRuleInput } from "../src/forms.ts";

/** The fields of a form that asks for a demo: one of each kind. */
export const FIELDS: FormFieldInput[] = [
  { name: "fullName", kind: "text", required: true, maxLength: 300 },
  { name: "email", kind: "email" },
  { name: "company", kind: "text" },
  { name: "seats", kind: "number" },
  { name: "consent", kind: "boolean" },
  { name: "topic", kind: "choice", choices: ["Demo", "Support"] },
  { name: "copyTo", kind: "text", maxLength: 2_000 },
];

export const LEAD_RULE: RouteRuleInput = {
  id: "lead",
  actions: [{ type: "lead", name: "fullName", email: "email", companyName: "company" }],
};

/** A rule for each kind of message. */
export const ROUTES: RouteRuleInput[] = [
  LEAD_RULE,
  {
    id: "thank-you",
    when: { field: "email", exists: true },
    actions: [{ type: "mail", to: { field: "email" }, subject: "Hello {{ data.fullName }}", text: "About {{ data.topic }}" }],
  },
  {
    id: "demo",
    when: {
      all: [
        { field: "topic", equals: "demo" },
        {
          any: [
            { field: "seats", oneOf: [10, 50] },
            { field: "company", contains: "acme" },
          ],
        },
      ],
    },
    actions: [
      { type: "webhook" },
      { type: "notification", recipientId: "sales", title: "Demo for {{ data.fullName }}", body: "{{ form.name }}" },
    ],
  },
];

export const FORM = { id: "0190a0a0-0000-7000-8000-00000000000f", name: "Contact" };

export function submissionOf(data: FormSubmission["data"]): FormSubmission {
  return {
    id: "0190a0a0-0000-7000-8000-000000000001",
    tenantId: "tenant-a",
    formId: FORM.id,
    formVersion: 1,
    data,
    submittedAt: new Date("2026-11-30T10:00:00.000Z"),
    routedAt: null,
    leadId: null,
  };
}
