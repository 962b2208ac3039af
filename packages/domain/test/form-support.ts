import { transaction, type Database, type Prisma } from "@toolctrl/db/client";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import {
  createForm,
  routeSubmission,
  submitForm,
  type Form,
  type FormFieldInput,
  type FormKey,
  type FormSubmission,
  type NewForm,
  type NewSubmission,
  type RoutedSubmission,
  type RouteRuleInput,
  type SubmittedForm,
} from "../src/forms.ts";
import { TENANT } from "./support.ts";

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

export const ANN = { fullName: "Ann", email: "ann@example.com" };
export const EVENT_ID = "0190a0a0-0000-7000-8000-0000000000e0";
export const COUNTS = `SELECT (SELECT count(*) FROM "FormSubmission")::int AS "submissions", (SELECT count(*) FROM "Lead")::int AS "leads",
  (SELECT count(*) FROM "OutboxEvent")::int AS "events"`;

export function inTx<T>(db: Database, run: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> {
  return db.prisma.$transaction(run, { maxWait: 60_000, timeout: 60_000 });
}

export function form(db: Database, change: Partial<NewForm> = {}): Promise<Form> {
  return inTx(db, (tx) => createForm(tx, { tenantId: TENANT, name: "Contact", fields: FIELDS, routes: ROUTES, ...change }));
}

export function submit(db: Database, { id, tenantId }: Form, data: JsonObject, more: Partial<NewSubmission> = {}): Promise<SubmittedForm> {
  return inTx(db, (tx) => submitForm(tx, { tenantId, formId: id, data, ...more }));
}

/** Routes a submission as the consumer does, in raw SQL, but with no receipt before it. */
export function routeKey(db: Database, { id, tenantId }: FormKey, effectEpoch = 0): Promise<RoutedSubmission> {
  const event = { causationId: EVENT_ID, correlationId: "c-1", depth: 3 };
  return transaction(db.pool, (tx) => routeSubmission(outboxTransactionOf(tx), { id, tenantId, effectEpoch, event }));
}

export function route(db: Database, { submission }: SubmittedForm, effectEpoch = 0): Promise<RoutedSubmission> {
  return routeKey(db, submission, effectEpoch);
}
