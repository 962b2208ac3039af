import { assertOutboxTransaction, publishOutboxEvent } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { uuidv7 } from "uuidv7";
import { parseAddress } from "../emails/parse-address.ts";
import type { RowEventContext } from "../rows/row.ts";
import type { TransactionClient } from "../transaction-client.ts";

const MAX_NAME_LENGTH = 200;

export interface NewLead {
  readonly tenantId: string;
  readonly name: string;
  readonly email?: string | undefined;
  /** Without one the conversion names the company after the lead. */
  readonly companyName?: string | undefined;
  readonly event?: RowEventContext | undefined;
}

/**
 * Adds a lead, and publishes `record.lead.created` in the same transaction. @returns its id
 * @throws CodedError `LEAD.ARGUMENT`, `MAIL.ADDRESS`, `PUBLISH.ROOT_CLIENT`
 */
export async function createLead(tx: TransactionClient, input: NewLead): Promise<string> {
  const { tenantId } = input;
  const name = checkName(input.name, "name");
  const companyName = input.companyName === undefined ? null : checkName(input.companyName, "companyName");
  const email = input.email === undefined ? null : parseAddress(input.email, "email");
  assertOutboxTransaction(tx);
  const id = uuidv7();
  await tx.lead.create({ data: { id, tenantId, name, email, companyName }, select: { id: true } });
  const payload = { object: "lead", recordId: id, lead: { name, email, companyName } };
  await publishOutboxEvent(tx, { ...input.event, tenantId, type: "record.lead.created", payload, recordKey: `lead/${id}` });
  return id;
}

function checkName(value: unknown, field: string): string {
  const text = typeof value === "string" ? value.trim() : "";
  // As jsonb and text take it; anything else would fail inside the transaction.
  if (text !== "" && text.length <= MAX_NAME_LENGTH && text.isWellFormed() && !text.includes("\u0000")) return text;
  throw new CodedError("LEAD.ARGUMENT", `expected ${field} to be a text of 1 to ${MAX_NAME_LENGTH} characters, got something else`, {
    facts: { field },
  });
}
