import { createPluginSubscription, type PluginFunctions } from "@toolctrl/domain/plugins";
import type { PrismaTx } from "../intents.ts";

/** What the sample's worker-general can call: a plugin that writes down the keys it was told, in the transaction of the invocation. */
export const samplePluginFunctions: PluginFunctions = {
  async "write-down"({ payload, tenantId }, { tx }) {
    const { key } = payload;
    // The end of a workflow has none.
    if (key !== undefined) await tx.query(`INSERT INTO sample.plugin_note ("tenantId", key) VALUES ($1, $2)`, [tenantId, key]);
  },
};

/** Two plugins for every hook of a tenant: a function, and one called over HTTP at the sink, whose port is a new one each time. */
export async function preparePlugins(tx: PrismaTx, tenantId: string, url: string, secretsKey: string): Promise<void> {
  await tx.pluginSubscription.deleteMany({ where: { tenantId } });
  const common = { tenantId, pluginId: "sample", eventPrefixes: [] };
  await createPluginSubscription(tx, { ...common, kind: "function", functionName: "write-down" });
  await createPluginSubscription(tx, { ...common, kind: "http", url, secretsKey });
}
