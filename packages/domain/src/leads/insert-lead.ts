import { publishOutboxEvent, type OutboxTransaction } from "@toolctrl/db/outbox";
import { uuidv7 } from "uuidv7";
import type { RowEventContext } from "../rows/row.ts";
import type { CheckedLead } from "./lead-input.ts";

export interface LeadToInsert extends CheckedLead {
  readonly tenantId: string;
  /** What it is made from, and of which there is one lead alone; null for one that a person makes. */
  readonly sourceKey: string | null;
}

// Without a target: before the key's migration there is no index to name, and after a failed build an invalid one.
const INSERT = `INSERT INTO "Lead" ("id", "tenantId", "name", "email", "companyName", "sourceKey")
VALUES ($1::uuid, $2::text, $3::text, $4::text, $5::text, $6::text) ON CONFLICT DO NOTHING`;

/**
 * Writes a lead and publishes `record.lead.created` in the same transaction.
 *
 * Locks: the entry of its source key, for which a rival's uncommitted lead is waited for; then the line of its own record. A crash here
 * costs nothing.
 * @returns its id; undefined when there is a lead of its source
 */
export async function insertLead(tx: OutboxTransaction, lead: LeadToInsert, event?: RowEventContext): Promise<string | undefined> {
  const id = uuidv7();
  const { tenantId, name, email, companyName, sourceKey } = lead;
  if ((await tx.$executeRawUnsafe(INSERT, id, tenantId, name, email, companyName, sourceKey)) === 0) return undefined;
  const payload = { object: "lead", recordId: id, lead: { name, email, companyName } };
  await publishOutboxEvent(tx, { ...event, tenantId, type: "record.lead.created", payload, recordKey: `lead/${id}` });
  return id;
}
