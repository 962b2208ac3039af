import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { takesEventType } from "./event-prefixes.ts";
import { openSecret, sealedSecretSchema } from "./secret-box.ts";

/** An endpoint as the sender needs it. */
export interface WebhookTarget {
  readonly id: string;
  readonly url: string;
  readonly enabled: boolean;
  /** Those that sign now, newest first; still sealed. */
  readonly sealedSecrets: unknown;
}

/** The ids of a tenant's enabled endpoints that receive events of this type. */
export async function findSubscribedEndpoints(db: Queryable, event: { tenantId: string; type: string }): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT "id" FROM "WebhookEndpoint"
     WHERE "tenantId" = $1 AND "enabled" AND ${takesEventType("$2")}
     ORDER BY "id"`,
    [event.tenantId, event.type],
  );
  return rows.map(({ id }) => id);
}

/** An endpoint of a tenant, with the secrets that have not expired by the database's clock; null when it was deleted. */
export async function loadWebhookTarget(db: Queryable, endpoint: { tenantId: string; id: string }): Promise<WebhookTarget | null> {
  const { rows } = await db.query<WebhookTarget>(
    `SELECT "id", "url", "enabled",
            (SELECT coalesce(jsonb_agg(secret ORDER BY place), '[]') FROM jsonb_array_elements("secrets") WITH ORDINALITY AS each(secret, place)
             WHERE NOT secret ? 'expiresAt' OR (secret ->> 'expiresAt')::timestamptz > clock_timestamp()) AS "sealedSecrets"
     FROM "WebhookEndpoint" WHERE "id" = $1 AND "tenantId" = $2`,
    [endpoint.id, endpoint.tenantId],
  );
  return rows[0] ?? null;
}

/** @throws CodedError `WEBHOOK.SECRET` */
export function openWebhookSecrets(target: WebhookTarget, secretsKey: string): string[] {
  return z
    .array(sealedSecretSchema)
    .parse(target.sealedSecrets)
    .map((secret) => openSecret(secret, target.id, secretsKey));
}

/** Takes an endpoint out of service, with the reason a person will read; the first reason stays. */
export async function disableWebhookEndpoint(db: Queryable, endpoint: { tenantId: string; id: string }, reason: string): Promise<void> {
  await db.query(
    `UPDATE "WebhookEndpoint" SET "enabled" = false, "disabledReason" = $3, "disabledAt" = clock_timestamp(), "updatedAt" = clock_timestamp()
     WHERE "id" = $1 AND "tenantId" = $2 AND "enabled"`,
    [endpoint.id, endpoint.tenantId, reason],
  );
}
