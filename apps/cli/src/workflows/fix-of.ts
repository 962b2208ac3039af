import { ERROR_CODES } from "@toolctrl/foundation/errors";

/** What can be done about the error of a code, as the table of errors says; null for a code of somebody else's. */
export function fixOf(code: string | null): string | null {
  return Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].fix ?? null;
}
