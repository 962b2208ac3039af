import { CodedError } from "@toolctrl/foundation/errors";

export function formNotFound(what: "form" | "submission", id: string): CodedError {
  return new CodedError("FORM.NOT_FOUND", `expected a ${what} ${id}, got none`, { facts: { what, id } });
}
