import type { JsonValue } from "@toolctrl/foundation/json";
import { fieldsSchema } from "./field-schema.ts";
import { checkFormKey } from "./form-argument.ts";
import { SUBMISSION_COLUMNS, type Form, type FormKey, type FormSubmission, type Reader } from "./form.ts";
import { routesSchema } from "./route-schema.ts";

interface FormRow {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
  readonly fields: JsonValue;
  readonly routes: JsonValue;
  readonly version: number;
  readonly updatedAt: Date;
}

const SELECT = `SELECT "id"::text AS "id", "tenantId", "name", "fields", "routes", "version", "updatedAt" FROM "Form"
WHERE "id" = $1::uuid AND "tenantId" = $2::text`;

/**
 * A form of the tenant; null when there is none. Index: the primary key. With `lock` it is held until the transaction ends: other changes
 * of it wait, submissions do not.
 * @throws CodedError `FORM.ARGUMENT`
 */
export async function readForm(db: Reader, key: FormKey, options: { readonly lock?: boolean } = {}): Promise<Form | null> {
  checkFormKey(key);
  const rows = await db.$queryRawUnsafe<FormRow[]>(`${SELECT}${options.lock === true ? " FOR NO KEY UPDATE" : ""}`, key.id, key.tenantId);
  const row = rows[0];
  return row === undefined ? null : { ...row, fields: fieldsSchema.parse(row.fields), routes: routesSchema.parse(row.routes) };
}

/**
 * A submission of the tenant; null when there is none. Index: the primary key.
 * @throws CodedError `FORM.ARGUMENT`
 */
export async function readSubmission(db: Reader, key: FormKey): Promise<FormSubmission | null> {
  checkFormKey(key);
  const rows = await db.$queryRawUnsafe<FormSubmission[]>(
    `SELECT ${SUBMISSION_COLUMNS} FROM "FormSubmission" WHERE "id" = $1::uuid AND "tenantId" = $2::text`,
    key.id,
    key.tenantId,
  );
  return rows[0] ?? null;
}
