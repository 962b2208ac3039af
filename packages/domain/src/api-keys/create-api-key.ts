import { randomBytes } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { uuidv7 } from "uuidv7";
import { hashOfKey } from "./hash-of-key.ts";

export interface NewApiKey {
  readonly tenantId: string;
  /** What people call it; what its requests do is done by `key:<name>`. */
  readonly name: string;
}

export interface CreatedApiKey {
  readonly id: string;
  /** `tck_` and 32 random bytes in base64url. */
  readonly key: string;
}

// With its prefix it fits the actor of an application event.
const MAX_NAME_LENGTH = 100;
const MAX_TENANT_LENGTH = 200;

/**
 * Adds a key to a tenant, in the caller's transaction. The key is given back this once: only its hash is kept.
 * @throws CodedError `API.ARGUMENT`
 */
export async function createApiKey(tx: Queryable, { tenantId, name }: NewApiKey): Promise<CreatedApiKey> {
  checkText(tenantId, "tenantId", MAX_TENANT_LENGTH);
  checkText(name, "name", MAX_NAME_LENGTH);
  const id = uuidv7();
  const key = `tck_${randomBytes(32).toString("base64url")}`;
  await tx.query(`INSERT INTO "ApiKey" ("id", "tenantId", "name", "hash") VALUES ($1::uuid, $2, $3, $4)`, [
    id,
    tenantId,
    name,
    hashOfKey(key),
  ]);
  return { id, key };
}

function checkText(text: string, field: string, maxLength: number): void {
  if (text !== "" && text.length <= maxLength && text.isWellFormed() && !text.includes("\u0000")) return;
  throw new CodedError("API.ARGUMENT", `expected ${field} to be a text of 1 to ${maxLength} characters, got another`, { facts: { field } });
}
