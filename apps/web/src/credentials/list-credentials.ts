import type { Queryable } from "@toolctrl/db/sql";
import { CREDENTIAL_COLUMNS, type Credential } from "./credential.ts";

const MAX_PAGE = 200;

/** A tenant's credentials by name, at most 200, without their secrets. Index: `WorkflowCredential_tenantId_name_key`. */
export async function listCredentials(db: Queryable, tenantId: string): Promise<Credential[]> {
  const { rows } = await db.query<Credential>(
    `SELECT ${CREDENTIAL_COLUMNS} FROM "WorkflowCredential" c WHERE c."tenantId" = $1 ORDER BY c."name" LIMIT ${MAX_PAGE}`,
    [tenantId],
  );
  return rows;
}
