import { CodedError } from "@toolctrl/foundation/errors";
import { isUuid } from "../uuid.ts";

/**
 * An id in lowercase, as the command line gives it.
 * @throws CodedError `WORKFLOW.NOT_FOUND` for a text that cannot be the id of anything
 */
export function idOf(what: "workflow" | "run" | "question", text: string | undefined): string {
  if (text !== undefined && isUuid(text)) return text.toLowerCase();
  const got = JSON.stringify((text ?? "").slice(0, 80));
  throw new CodedError("WORKFLOW.NOT_FOUND", `expected the id of a ${what} (a UUID), got ${got}`, { facts: { id: text ?? "" } });
}
