import type { Prisma } from "@toolctrl/db/client";

/** An endpoint as people see it: without its secrets. */
export interface WebhookEndpointView {
  readonly id: string;
  readonly url: string;
  readonly eventPrefixes: string[];
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  readonly disabledAt: Date | null;
  readonly createdAt: Date;
}

/** A tenant's endpoints, oldest first. */
export async function listWebhookEndpoints(db: Prisma.TransactionClient, tenantId: string): Promise<WebhookEndpointView[]> {
  return db.webhookEndpoint.findMany({
    where: { tenantId },
    orderBy: { id: "asc" },
    select: { id: true, url: true, eventPrefixes: true, enabled: true, disabledReason: true, disabledAt: true, createdAt: true },
  });
}

/** Puts a disabled endpoint back into service. False when the tenant has no such disabled endpoint. */
export async function enableWebhookEndpoint(tx: Prisma.TransactionClient, endpoint: { tenantId: string; id: string }): Promise<boolean> {
  const { count } = await tx.webhookEndpoint.updateMany({
    where: { id: endpoint.id, tenantId: endpoint.tenantId, enabled: false },
    data: { enabled: true, disabledReason: null, disabledAt: null },
  });
  return count === 1;
}
