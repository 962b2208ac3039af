import { openSecret, sealedSecretSchema, sealSecret, type SealedSecret } from "@toolctrl/domain/secret-box";
import { CodedError } from "@toolctrl/foundation/errors";

/** What a secret is bound to: moved to another tenant, credential or header it does not open. */
export interface CredentialBinding {
  readonly tenantId: string;
  readonly id: string;
  readonly header: string;
}

/**
 * @param key 32 bytes in base64; null where this process has none
 * @throws CodedError `WORKFLOW.CREDENTIAL`
 */
export function sealCredential(secret: string, binding: CredentialBinding, key: string | null): SealedSecret {
  return named(binding, () => sealSecret(secret, nameOf(binding), required(key)));
}

/** @throws CodedError `WORKFLOW.CREDENTIAL` when it was sealed with another key, for something else, or was changed */
export function openCredential(sealed: unknown, binding: CredentialBinding, key: string | null): string {
  return named(binding, () => openSecret(sealedSecretSchema.parse(sealed), nameOf(binding), required(key)));
}

function nameOf({ tenantId, id, header }: CredentialBinding): string {
  return JSON.stringify(["credential", tenantId, id, header]);
}

function required(key: string | null): string {
  if (key === null) throw new Error("expected WORKFLOW_CREDENTIALS_KEY to be set, it is not");
  return key;
}

/** The box speaks of endpoints; the code and the id lead to what a reader can do here. */
function named<T>({ id }: CredentialBinding, fn: () => T): T {
  try {
    return fn();
  } catch (cause) {
    throw new CodedError("WORKFLOW.CREDENTIAL", `expected the secret of credential ${id} to be usable, it is not`, {
      facts: { credentialId: id },
      cause,
    });
  }
}
