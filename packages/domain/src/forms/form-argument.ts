import { CodedError } from "@toolctrl/foundation/errors";
import type { SchemaProblem } from "@toolctrl/foundation/schema-problems";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MAX_TENANT_LENGTH = 200;

/** All that is wrong with an argument of a form's functions, before any SQL. */
export function formArgument(problems: readonly SchemaProblem[]): CodedError {
  const lines = problems.map(({ path, message }) => `  - ${path}: ${message}`);
  return new CodedError("FORM.ARGUMENT", `expected the form's arguments to fit, got:\n${lines.join("\n")}`, {
    facts: { paths: problems.map(({ path }) => path) },
  });
}

/** @throws CodedError `FORM.ARGUMENT` for a key that the database would refuse in the middle of a transaction */
export function checkFormKey(key: { readonly tenantId: unknown; readonly id: unknown }): void {
  checkTenant(key.tenantId);
  if (typeof key.id !== "string" || !UUID.test(key.id)) throw formArgument([{ path: "id", message: "expected a UUID" }]);
}

/** @throws CodedError `FORM.ARGUMENT` */
export function checkTenant(tenantId: unknown): void {
  const usable = typeof tenantId === "string" && tenantId !== "" && tenantId.length <= MAX_TENANT_LENGTH && isStorable(tenantId);
  if (!usable) throw formArgument([{ path: "tenantId", message: `expected a text of 1 to ${MAX_TENANT_LENGTH} characters` }]);
}

/** Whether PostgreSQL can keep a text. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\u0000");
}
