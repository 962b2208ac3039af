import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { takesEventType } from "../webhook-endpoints/event-prefixes.ts";

const base = { id: z.string(), pluginId: z.string(), enabled: z.boolean() };
const targetRow = z.discriminatedUnion("kind", [
  z.object({ ...base, kind: z.literal("function"), functionName: z.string() }),
  z.object({ ...base, kind: z.literal("http"), url: z.string(), sealedSecrets: z.unknown() }),
]);

/** A subscription as its caller needs it; the secrets are still sealed. */
export type PluginTarget = z.output<typeof targetRow>;

/** The ids of a tenant's enabled subscriptions that take events of this type. Index: "PluginSubscription_tenantId_idx". */
export async function findSubscribedPlugins(db: Queryable, event: { tenantId: string; type: string }): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT "id" FROM "PluginSubscription" WHERE "tenantId" = $1 AND "enabled" AND ${takesEventType("$2")} ORDER BY "id"`,
    [event.tenantId, event.type],
  );
  return rows.map(({ id }) => id);
}

/** A subscription of a tenant; null when it was deleted. Index: the primary key. */
export async function loadPluginTarget(db: Queryable, subscription: { tenantId: string; id: string }): Promise<PluginTarget | null> {
  const { rows } = await db.query(
    `SELECT "id"::text AS "id", "pluginId", "enabled", "kind", "functionName", "url", "secrets" AS "sealedSecrets"
       FROM "PluginSubscription" WHERE "id" = $1::uuid AND "tenantId" = $2`,
    [subscription.id, subscription.tenantId],
  );
  return rows[0] === undefined ? null : targetRow.parse(rows[0]);
}
