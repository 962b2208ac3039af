import type { Queryable } from "@toolctrl/db/sql";
import type { JsonObject } from "@toolctrl/foundation/json";
import { uuidv7 } from "uuidv7";
import type { Consent, MarketingContact, ProviderStatus } from "./contact.ts";

interface Row {
  id: string;
  tenantId: string;
  email: string;
  name: string | null;
  attributes: JsonObject;
  appliedPosition: string | null;
  consent: Consent;
  consentAt: Date | null;
  consentSource: string | null;
  consentPosition: string | null;
  revision: string;
  owedBy: string | null;
  callIntentId: string | null;
  toldStatus: ProviderStatus | null;
  callMs: number;
}

const COLUMNS = `"id", "tenantId", "email", "name", "attributes", "appliedPosition"::text AS "appliedPosition", "consent", "consentAt",
  "consentSource", "consentPosition"::text AS "consentPosition", "revision"::text AS "revision", "owedBy", "callIntentId", "toldStatus",
  greatest(0, coalesce(extract(epoch FROM "callUntil" - clock_timestamp()) * 1000, 0))::float8 AS "callMs"`;

/** Locks a tenant's contact until the transaction ends; null when it is not there. Lock: the contact. Index: the primary key. */
export async function lockContact(tx: Queryable, key: { tenantId: string; id: string }): Promise<MarketingContact | null> {
  const { rows } = await tx.query<Row>(`SELECT ${COLUMNS} FROM "MarketingContact" WHERE "id" = $1 AND "tenantId" = $2 FOR UPDATE`, [
    key.id,
    key.tenantId,
  ]);
  return toContact(rows[0]);
}

/**
 * Locks the contact of an address until the transaction ends, and with `make` adds one that nothing is known of where there is none: all that
 * events of one address do is done by one at a time.
 *
 * Lock: the contact. Index: `MarketingContact_tenantId_emailKey_key`. A rival's new contact is waited for. A crash here costs nothing.
 * @throws 55P03 of the database when the lock is not given within `lock_timeout`
 */
export async function lockContactOf(
  tx: Queryable,
  key: { tenantId: string; email: string; emailKey: string },
  { make }: { make: boolean },
): Promise<MarketingContact | null> {
  const { tenantId, email, emailKey } = key;
  const find = async (): Promise<MarketingContact | null> => {
    const sql = `SELECT ${COLUMNS} FROM "MarketingContact" WHERE "tenantId" = $1 AND "emailKey" = $2 FOR UPDATE`;
    return toContact((await tx.query<Row>(sql, [tenantId, emailKey])).rows[0]);
  };
  const contact = await find();
  if (contact !== null || !make) return contact;
  const { rows } = await tx.query<Row>(
    `INSERT INTO "MarketingContact" ("id", "tenantId", "email", "emailKey") VALUES ($1, $2, $3, $4)
     ON CONFLICT ("tenantId", "emailKey") DO NOTHING RETURNING ${COLUMNS}`,
    [uuidv7(), tenantId, email, emailKey],
  );
  // None where a rival has just made it.
  return toContact(rows[0]) ?? find();
}

function toContact(row: Row | undefined): MarketingContact | null {
  if (row === undefined) return null;
  return {
    ...row,
    appliedPosition: row.appliedPosition === null ? null : BigInt(row.appliedPosition),
    consentPosition: row.consentPosition === null ? null : BigInt(row.consentPosition),
    revision: BigInt(row.revision),
  };
}
