import type { JsonValue } from "@toolctrl/foundation/json";
import { CodedError } from "@toolctrl/foundation/errors";
import { formNotFound } from "./form-not-found.ts";
import type { Form, FormKey, FormSubmission, Reader } from "./form.ts";
import { routesSchema, type RouteRule } from "./route-schema.ts";

/** A submission with what its form says now. */
export interface LoadedSubmission {
  readonly submission: FormSubmission;
  readonly form: Pick<Form, "id" | "name">;
  readonly routes: readonly RouteRule[];
}

type Row = FormSubmission & { readonly formName: string; readonly routes: JsonValue };

const SELECT = `SELECT s."id"::text AS "id", s."tenantId", s."formId"::text AS "formId", s."formVersion", s."data", s."submittedAt",
  s."routedAt", s."leadId"::text AS "leadId", f."name" AS "formName", f."routes"
FROM "FormSubmission" s JOIN "Form" f ON f."id" = s."formId" AND f."tenantId" = s."tenantId"
WHERE s."id" = $1::uuid AND s."tenantId" = $2::text`;

/**
 * A submission and its form's rules. Indexes: both primary keys. Takes no lock: what it reads of the submission never changes.
 * @throws CodedError `FORM.NOT_FOUND`; `FORM.ROUTE` when the stored rules are none
 */
export async function loadSubmission(db: Reader, key: FormKey): Promise<LoadedSubmission> {
  const [row] = await db.$queryRawUnsafe<Row[]>(SELECT, key.id, key.tenantId);
  if (row === undefined) throw formNotFound("submission", key.id);
  const { formName, routes, ...submission } = row;
  const parsed = routesSchema.safeParse(routes);
  if (!parsed.success) {
    throw new CodedError("FORM.ROUTE", `expected the rules of form ${row.formId} to fit their schema, got ${parsed.error.message}`, {
      facts: { formId: row.formId },
    });
  }
  return { submission, form: { id: row.formId, name: formName }, routes: parsed.data };
}
