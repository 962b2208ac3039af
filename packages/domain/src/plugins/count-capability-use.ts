import { publishOutboxEvent, type OutboxEventInput, type OutboxTransaction } from "@toolctrl/db/outbox";
import { z } from "zod";
import type { CapabilityKey } from "./set-capability-quota.ts";

export interface CapabilityUse extends CapabilityKey {
  readonly amount: number;
  /** When it was used, ISO 8601; its month in UTC is the one it counts for. */
  readonly usedAt: string;
  /** What an event says that is published because of this use. */
  readonly event: Pick<OutboxEventInput, "causationId" | "correlationId" | "depth" | "traceparent" | "tracestate">;
}

const countRow = z.object({ used: z.coerce.bigint(), perMonth: z.coerce.bigint().nullable(), told: z.boolean() });

const COUNT = `WITH counted AS (
  INSERT INTO "PluginUsage" AS u ("tenantId", "pluginId", "capability", "period", "used") VALUES ($1, $2, $3, $4, $5::bigint)
  ON CONFLICT ("tenantId", "pluginId", "capability", "period") DO UPDATE
  SET "used" = u."used" + EXCLUDED."used", "updatedAt" = clock_timestamp()
  RETURNING "used", "quotaToldAt"
)
SELECT "used"::text AS "used", "quotaToldAt" IS NOT NULL AS "told",
       (SELECT "perMonth"::text FROM "PluginQuota" WHERE "tenantId" = $1 AND "pluginId" = $2 AND "capability" = $3) AS "perMonth"
  FROM counted`;

const TELL = `UPDATE "PluginUsage" SET "quotaToldAt" = clock_timestamp()
  WHERE "tenantId" = $1 AND "pluginId" = $2 AND "capability" = $3 AND "period" = $4`;

/**
 * Adds a use to its month. The one that uses the quota up publishes a notification to everybody of the tenant, in this transaction; so people
 * are told once a month, however many uses are counted at once, and also when the quota was lowered below what is used.
 *
 * To be the last call of its transaction: every other use of the capability waits for the counter's row until that ends. Lock: the row. A crash
 * costs nothing: the row falls back with the transaction.
 */
export async function countCapabilityUse(tx: OutboxTransaction, use: CapabilityUse): Promise<{ period: string; used: bigint }> {
  const period = new Date(use.usedAt).toISOString().slice(0, "2026-12".length);
  const key = [use.tenantId, use.pluginId, use.capability, period];
  const rows = await tx.$queryRawUnsafe<unknown[]>(COUNT, ...key, use.amount);
  const { used, perMonth, told } = countRow.parse(rows[0]);
  if (perMonth !== null && used >= perMonth && !told) {
    await tx.$executeRawUnsafe(TELL, ...key);
    await publishQuotaUsedUp(tx, use, { period, perMonth });
  }
  return { period, used };
}

async function publishQuotaUsedUp(tx: OutboxTransaction, use: CapabilityUse, quota: { period: string; perMonth: bigint }): Promise<void> {
  const { tenantId, pluginId, capability, event } = use;
  await publishOutboxEvent(tx, {
    tenantId,
    type: "notification.message.create",
    payload: {
      recipientId: null,
      title: `The plugin ${pluginId} has used up its ${capability} of ${quota.period}`,
      body: `Its quota is ${quota.perMonth} a month. What it asks for beyond that is refused until the next month, or until the quota is raised.`,
    },
    dispatchKey: `plugin-quota/${pluginId}/${capability}/${quota.period}`,
    ...event,
  });
}
