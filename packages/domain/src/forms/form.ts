import type { OutboxTransaction } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { FormField } from "./field-schema.ts";
import type { RouteRule } from "./route-schema.ts";

/** Where a form is read: a transaction, or any client that can read. */
export type Reader = Pick<OutboxTransaction, "$queryRawUnsafe">;

export interface FormKey {
  readonly tenantId: string;
  readonly id: string;
}

export interface FormDefinition {
  readonly name: string;
  readonly fields: readonly FormField[];
  /** Applied in order to each submission. */
  readonly routes: readonly RouteRule[];
}

export interface Form extends FormDefinition, FormKey {
  /** 1 for a new form, and one more with each change. */
  readonly version: number;
  readonly updatedAt: Date;
}

/** What somebody sent through a form. */
export interface FormSubmission extends FormKey {
  readonly formId: string;
  /** The version of the form that `data` were checked against. */
  readonly formVersion: number;
  readonly data: JsonObject;
  readonly submittedAt: Date;
  /** When its rules were applied; null until then. */
  readonly routedAt: Date | null;
  readonly leadId: string | null;
}

/** The columns of a {@link FormSubmission}, for SELECT and RETURNING. */
export const SUBMISSION_COLUMNS = `"id"::text AS "id", "tenantId", "formId"::text AS "formId", "formVersion", "data", "submittedAt", "routedAt",
  "leadId"::text AS "leadId"`;
