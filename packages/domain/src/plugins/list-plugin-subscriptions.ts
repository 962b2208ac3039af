import type { Prisma } from "@toolctrl/db/client";

/** A subscription as people see it: without its secrets. */
export interface PluginSubscriptionView {
  readonly id: string;
  readonly pluginId: string;
  readonly eventPrefixes: string[];
  readonly kind: string;
  readonly functionName: string | null;
  readonly url: string | null;
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

/** A tenant's subscriptions, or those of one plugin, oldest first. */
export async function listPluginSubscriptions(
  db: Prisma.TransactionClient,
  { tenantId, pluginId }: { tenantId: string; pluginId?: string },
): Promise<PluginSubscriptionView[]> {
  return db.pluginSubscription.findMany({
    where: { tenantId, ...(pluginId === undefined ? {} : { pluginId }) },
    orderBy: { id: "asc" },
    select: {
      id: true,
      pluginId: true,
      eventPrefixes: true,
      kind: true,
      functionName: true,
      url: true,
      enabled: true,
      disabledReason: true,
      disabledAt: true,
      createdAt: true,
    },
  });
}
