/** Forms, what people send through them, and what their rules make of it. */
export { createForm, type NewForm } from "./forms/create-form.ts";
export type { FormField, FormFieldInput, FieldKind } from "./forms/field-schema.ts";
export type { Form, FormKey, FormSubmission } from "./forms/form.ts";
export type { FieldProblem } from "./forms/check-submission.ts";
export { readForm, readSubmission } from "./forms/read-form.ts";
export type { RouteAction, RouteCondition, RouteRule, RouteRuleInput } from "./forms/route-schema.ts";
export { routeSubmission, type RoutedSubmission, type SubmissionRouting } from "./forms/route-submission.ts";
export { submitForm, type NewSubmission, type SubmittedForm } from "./forms/submit-form.ts";
export { updateForm, type FormUpdate } from "./forms/update-form.ts";
