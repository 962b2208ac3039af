import type { RowKey } from "@toolctrl/domain/rows";
import { CodedError } from "@toolctrl/foundation/errors";

/** The error of whoever asks for a row that the tenant does not have. */
export function rowNotFound({ table, id }: RowKey): CodedError {
  return new CodedError("ROW.NOT_FOUND", `expected a row ${table}/${id}, got none`, { facts: { table, id } });
}
