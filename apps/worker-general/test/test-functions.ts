import type { PluginFunctions } from "@toolctrl/domain/plugins";

/** What the worker of the tests can call. */
export const TEST_FUNCTIONS: PluginFunctions = {
  async count({ tenantId, eventId }, { tx }) {
    await tx.query(
      `INSERT INTO "TenantCounter" AS c ("tenantId", "name", "value") VALUES ($1, $2, 1)
       ON CONFLICT ("tenantId", "name") DO UPDATE SET "value" = c."value" + 1`,
      [tenantId, eventId],
    );
  },
};
