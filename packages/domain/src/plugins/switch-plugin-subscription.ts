import type { OutboxTransaction } from "@toolctrl/db/outbox";

const DISABLE = `UPDATE "PluginSubscription"
  SET "enabled" = false, "disabledReason" = $3, "disabledAt" = clock_timestamp(), "updatedAt" = clock_timestamp()
  WHERE "id" = $1::uuid AND "tenantId" = $2 AND "enabled"`;

const ENABLE = `UPDATE "PluginSubscription"
  SET "enabled" = true, "disabledReason" = NULL, "disabledAt" = NULL, "updatedAt" = clock_timestamp()
  WHERE "id" = $1::uuid AND "tenantId" = $2 AND NOT "enabled"`;

interface Which {
  readonly tenantId: string;
  readonly id: string;
}

/**
 * Takes a subscription out of service, with the reason a person will read. Hooks under way to it are not called any more, and are no failures
 * of their events. False when the tenant has no such enabled subscription; the first reason stays.
 */
export async function disablePluginSubscription(tx: OutboxTransaction, { tenantId, id }: Which, reason: string): Promise<boolean> {
  return (await tx.$executeRawUnsafe(DISABLE, id, tenantId, reason)) === 1;
}

/** Puts a disabled subscription back into service, for the hooks to come. False when the tenant has no such disabled subscription. */
export async function enablePluginSubscription(tx: OutboxTransaction, { tenantId, id }: Which): Promise<boolean> {
  return (await tx.$executeRawUnsafe(ENABLE, id, tenantId)) === 1;
}
