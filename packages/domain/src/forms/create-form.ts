import { assertOutboxTransaction, type OutboxTransaction } from "@toolctrl/db/outbox";
import { uuidv7 } from "uuidv7";
import { checkDefinition } from "./check-definition.ts";
import type { FormFieldInput } from "./field-schema.ts";
import { checkTenant } from "./form-argument.ts";
import type { Form } from "./form.ts";
import type { RouteRuleInput } from "./route-schema.ts";

export interface NewForm {
  readonly tenantId: string;
  readonly name: string;
  readonly fields: readonly FormFieldInput[];
  /** Default: none; submissions are then kept, and nothing else happens. */
  readonly routes?: readonly RouteRuleInput[] | undefined;
}

const INSERT = `INSERT INTO "Form" ("id", "tenantId", "name", "fields", "routes") VALUES ($1::uuid, $2::text, $3::text, $4::jsonb, $5::jsonb)
RETURNING "version", "updatedAt"`;

/**
 * Adds a form. Its definition is checked to the last template before any SQL.
 * @throws CodedError `FORM.ARGUMENT` with every path that is wrong, `PUBLISH.ROOT_CLIENT`
 */
export async function createForm(tx: OutboxTransaction, input: NewForm): Promise<Form> {
  const { tenantId } = input;
  checkTenant(tenantId);
  const definition = checkDefinition({ routes: [], ...input });
  assertOutboxTransaction(tx);
  const id = uuidv7();
  const { name, fields, routes } = definition;
  const values = [id, tenantId, name, JSON.stringify(fields), JSON.stringify(routes)];
  const [written] = await tx.$queryRawUnsafe<Array<Pick<Form, "version" | "updatedAt">>>(INSERT, ...values);
  if (written === undefined) throw new TypeError("expected INSERT ... RETURNING to give a row, got none");
  return { id, tenantId, ...definition, ...written };
}
