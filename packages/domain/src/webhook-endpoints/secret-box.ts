import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";

/** A secret as it is stored: AES-256-GCM, all parts in base64. Bound to its endpoint: moved to another row it does not open. */
export const sealedSecretSchema = z.object({
  keyId: z.string(),
  iv: z.string(),
  tag: z.string(),
  sealed: z.string(),
  createdAt: z.string(),
  /** Until when a rotated secret still signs; absent for the present one. */
  expiresAt: z.string().optional(),
});

export type SealedSecret = z.infer<typeof sealedSecretSchema>;

/**
 * Encrypts a secret for an endpoint. `secretsKey` is 32 bytes in base64.
 * @throws CodedError `WEBHOOK.SECRET` when the key is not that.
 */
export function sealSecret(secret: string, endpointId: string, secretsKey: string): SealedSecret {
  const key = readKey(secretsKey);
  const iv = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(Buffer.from(endpointId));
  const sealed = Buffer.concat([cipher.update(secret, "utf8"), cipher.final()]);
  return {
    keyId: keyIdOf(key),
    iv: iv.toString("base64"),
    tag: cipher.getAuthTag().toString("base64"),
    sealed: sealed.toString("base64"),
    createdAt: new Date().toISOString(),
  };
}

/** @throws CodedError `WEBHOOK.SECRET` when it was sealed with another key, for another endpoint, or was changed. */
export function openSecret(secret: SealedSecret, endpointId: string, secretsKey: string): string {
  const key = readKey(secretsKey);
  if (secret.keyId !== keyIdOf(key)) {
    throw new CodedError(
      "WEBHOOK.SECRET",
      `expected the secret of endpoint ${endpointId} to be sealed with key ${keyIdOf(key)}, got key ${secret.keyId}`,
      {
        facts: { endpointId, keyId: secret.keyId },
      },
    );
  }
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, Buffer.from(secret.iv, "base64"), { authTagLength: 16 })
      .setAAD(Buffer.from(endpointId))
      .setAuthTag(Buffer.from(secret.tag, "base64"));
    return Buffer.concat([decipher.update(Buffer.from(secret.sealed, "base64")), decipher.final()]).toString("utf8");
  } catch (cause) {
    throw new CodedError("WEBHOOK.SECRET", `expected the secret of endpoint ${endpointId} to open, it does not`, {
      facts: { endpointId },
      cause,
    });
  }
}

/** Names a key without telling it. */
function keyIdOf(key: Buffer): string {
  return createHash("sha256").update("webhook-secrets-key:").update(key).digest("hex").slice(0, 12);
}

function readKey(secretsKey: string): Buffer {
  const key = Buffer.from(secretsKey, "base64");
  if (key.length !== 32) throw new CodedError("WEBHOOK.SECRET", `expected a key of 32 bytes in base64, got ${key.length} bytes`);
  return key;
}
