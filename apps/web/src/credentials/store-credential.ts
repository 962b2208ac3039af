import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { uuidv7 } from "uuidv7";
import { sealCredential } from "./credential-secret.ts";
import { CREDENTIAL_COLUMNS, type Credential } from "./credential.ts";

export interface NewCredential {
  readonly tenantId: string;
  readonly name: string;
  readonly header: string;
  readonly secret: string;
}

const INSERT = `INSERT INTO "WorkflowCredential" ("id", "tenantId", "name", "header", "secret") VALUES ($1::uuid, $2, $3, $4, $5::jsonb)
ON CONFLICT ("tenantId", "name") DO NOTHING RETURNING ${CREDENTIAL_COLUMNS}`;

/**
 * Keeps a credential, sealed. Lock: none but the new row, or a rival of the same name until it has committed.
 * @throws CodedError `WORKFLOW.CREDENTIAL` without a key, `WORKFLOW.CREDENTIAL_NAME` when the tenant has one of this name
 */
export async function storeCredential(
  db: Queryable,
  { tenantId, name, header, secret }: NewCredential,
  key: string | null,
): Promise<Credential> {
  const id = uuidv7();
  const sealed = sealCredential(secret, { tenantId, id, header }, key);
  const { rows } = await db.query<Credential>(INSERT, [id, tenantId, name, header, JSON.stringify(sealed)]);
  if (rows[0] !== undefined) return rows[0];
  throw new CodedError("WORKFLOW.CREDENTIAL_NAME", `expected a name that no credential has, got ${JSON.stringify(name)}`, {
    facts: { name },
  });
}
