import type { OutboxTransaction } from "@toolctrl/db/outbox";
import { CodedError } from "@toolctrl/foundation/errors";
import { checkPluginName } from "./create-plugin-subscription.ts";

/** Whose use of what. */
export interface CapabilityKey {
  readonly tenantId: string;
  readonly pluginId: string;
  readonly capability: string;
}

const SET = `INSERT INTO "PluginQuota" ("tenantId", "pluginId", "capability", "perMonth") VALUES ($1, $2, $3, $4::bigint)
  ON CONFLICT ("tenantId", "pluginId", "capability") DO UPDATE SET "perMonth" = EXCLUDED."perMonth", "updatedAt" = clock_timestamp()`;

const REMOVE = `DELETE FROM "PluginQuota" WHERE "tenantId" = $1 AND "pluginId" = $2 AND "capability" = $3`;

/**
 * Says what a plugin may use of a capability in a month of UTC, or with null that there is no limit. What was used in the present month counts.
 * @throws CodedError `PLUGIN.ARGUMENT`
 */
export async function setCapabilityQuota(
  tx: OutboxTransaction,
  quota: CapabilityKey & { readonly perMonth: bigint | null },
): Promise<void> {
  const { perMonth } = quota;
  const key = [quota.tenantId, checkPluginName("pluginId", quota.pluginId), checkPluginName("capability", quota.capability)];
  if (perMonth === null) return void (await tx.$executeRawUnsafe(REMOVE, ...key));
  if (perMonth < 0n || perMonth > 2n ** 63n - 1n) {
    throw new CodedError("PLUGIN.ARGUMENT", `expected perMonth to be from 0 to 2^63 - 1, got ${perMonth}`, {
      facts: { argument: "perMonth" },
    });
  }
  await tx.$executeRawUnsafe(SET, ...key, perMonth.toString());
}
