import { CodedError } from "@toolctrl/foundation/errors";
import type { CredentialSource } from "@toolctrl/workflow/runner";
import { openCredential } from "./credential-secret.ts";

const FIND = `SELECT "header", "secret" FROM "WorkflowCredential" WHERE "id" = $1::uuid AND "tenantId" = $2`;

/**
 * Opens stored credentials, for the runs that this process executes. No other program has the key.
 * @param key 32 bytes in base64
 */
export function createCredentialSource(key: string): CredentialSource {
  return {
    /** Index: the primary key. @throws CodedError `WORKFLOW.NOT_FOUND`, `WORKFLOW.CREDENTIAL` */
    async open(tx, { tenantId, credentialId }) {
      const { rows } = await tx.query<{ header: string; secret: unknown }>(FIND, [credentialId, tenantId]);
      const found = rows[0];
      if (found === undefined) {
        throw new CodedError("WORKFLOW.NOT_FOUND", `expected a credential ${credentialId}, got none`, { facts: { credentialId } });
      }
      const { header, secret } = found;
      return { name: header, value: openCredential(secret, { tenantId, id: credentialId, header }, key) };
    },
  };
}
