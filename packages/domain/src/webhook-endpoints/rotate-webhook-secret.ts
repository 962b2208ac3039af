import type { Prisma } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import { sealSecret } from "./secret-box.ts";
import { assertWebhookSecret, createWebhookSecret } from "./webhook-secret.ts";

export interface SecretRotation {
  readonly tenantId: string;
  readonly endpointId: string;
  /** Default: a new one. */
  readonly secret?: string;
  /** How long the secrets so far go on signing beside the new one, s. Default one day; 0 ends them all at once, for one that has leaked. */
  readonly overlapSeconds?: number;
  readonly secretsKey: string;
}

/**
 * Puts a new secret in front; the ones before it expire after the overlap or earlier, and those that have expired go. One statement, so that two
 * rotations at once keep both secrets.
 * @returns the new secret, this once.
 * @throws CodedError `WEBHOOK.SECRET`, also when the tenant has no such endpoint.
 */
export async function rotateWebhookSecret(tx: Prisma.TransactionClient, rotation: SecretRotation): Promise<{ secret: string }> {
  const { tenantId, endpointId, overlapSeconds = 24 * 60 * 60 } = rotation;
  const secret = assertWebhookSecret(rotation.secret ?? createWebhookSecret());
  const sealed = JSON.stringify([sealSecret(secret, endpointId, rotation.secretsKey)]);
  const changed = await tx.$executeRaw`
    UPDATE "WebhookEndpoint"
    SET "secrets" = ${sealed}::jsonb || (
          SELECT coalesce(jsonb_agg(
                   old || jsonb_build_object('expiresAt', to_char(
                     least((old ->> 'expiresAt')::timestamptz, clock_timestamp() + ${overlapSeconds}::float8 * interval '1 second') AT TIME ZONE 'UTC',
                     'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
                   ORDER BY place), '[]')
          FROM jsonb_array_elements("secrets") WITH ORDINALITY AS each(old, place)
          WHERE NOT old ? 'expiresAt' OR (old ->> 'expiresAt')::timestamptz > clock_timestamp()),
        "updatedAt" = clock_timestamp()
    WHERE "id" = ${endpointId}::uuid AND "tenantId" = ${tenantId}`;
  if (changed === 1) return { secret };
  throw new CodedError("WEBHOOK.SECRET", `expected tenant ${tenantId} to have endpoint ${endpointId}, got none`, {
    facts: { tenantId, endpointId },
  });
}
