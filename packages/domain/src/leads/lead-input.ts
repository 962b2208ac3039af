import { CodedError } from "@toolctrl/foundation/errors";
import { parseAddress } from "../emails/parse-address.ts";
import type { RowEventContext } from "../rows/row.ts";

export const MAX_LEAD_NAME_LENGTH = 200;

export interface NewLead {
  readonly tenantId: string;
  readonly name: string;
  readonly email?: string | undefined;
  /** Without one the conversion names the company after the lead. */
  readonly companyName?: string | undefined;
  readonly event?: RowEventContext | undefined;
}

/** A lead's own columns, checked. */
export interface CheckedLead {
  readonly name: string;
  readonly email: string | null;
  readonly companyName: string | null;
}

/** @throws CodedError `LEAD.ARGUMENT`, `MAIL.ADDRESS` */
export function checkLead(input: Pick<NewLead, "name" | "email" | "companyName">): CheckedLead {
  return {
    name: checkName(input.name, "name"),
    companyName: input.companyName === undefined ? null : checkName(input.companyName, "companyName"),
    email: input.email === undefined ? null : parseAddress(input.email, "email"),
  };
}

function checkName(value: unknown, field: string): string {
  const text = typeof value === "string" ? value.trim() : "";
  // As jsonb and text take it; anything else would fail inside the transaction.
  if (text !== "" && text.length <= MAX_LEAD_NAME_LENGTH && text.isWellFormed() && !text.includes("\u0000")) return text;
  throw new CodedError("LEAD.ARGUMENT", `expected ${field} to be a text of 1 to ${MAX_LEAD_NAME_LENGTH} characters, got something else`, {
    facts: { field },
  });
}
