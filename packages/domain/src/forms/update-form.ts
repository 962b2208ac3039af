import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { checkDefinition } from "./check-definition.ts";
import type { NewForm } from "./create-form.ts";
import type { Form, FormKey } from "./form.ts";
import { formNotFound } from "./form-not-found.ts";
import { readForm } from "./read-form.ts";

/** What is not named stays. */
export interface FormUpdate extends FormKey, Partial<Pick<NewForm, "name" | "fields" | "routes">> {
  /** The version that the change was made from; where the form is at another one, the change is refused. */
  readonly version?: number | undefined;
}

const UPDATE = `UPDATE "Form" SET "name" = $2::text, "fields" = $3::jsonb, "routes" = $4::jsonb, "version" = "version" + 1,
  "updatedAt" = clock_timestamp() WHERE "id" = $1::uuid RETURNING "version", "updatedAt"`;

/**
 * Changes a form: locks it, checks the whole definition that comes of the change, writes it. Submissions that are not routed yet are
 * routed by the new rules.
 * @throws CodedError `FORM.ARGUMENT`, `FORM.NOT_FOUND`, `FORM.CONFLICT`, `PUBLISH.ROOT_CLIENT`
 */
export async function updateForm(tx: OutboxTransaction, update: FormUpdate): Promise<Form> {
  assertOutboxTransaction(tx);
  const { id, tenantId } = update;
  const before = await readForm(tx, { id, tenantId }, { lock: true });
  if (before === null) throw formNotFound("form", id);
  if (update.version !== undefined && update.version !== before.version) {
    throw new CodedError("FORM.CONFLICT", `expected form ${id} to be at version ${update.version}, got ${before.version}`, {
      facts: { id, expected: update.version, got: before.version },
    });
  }
  const { name = before.name, fields = before.fields, routes = before.routes } = update;
  const definition = checkDefinition({ name, fields, routes });
  const values = [id, definition.name, JSON.stringify(definition.fields), JSON.stringify(definition.routes)];
  const [written] = await tx.$queryRawUnsafe<Array<Pick<Form, "version" | "updatedAt">>>(UPDATE, ...values);
  return { ...before, ...definition, ...written };
}
