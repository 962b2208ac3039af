import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import { transaction } from "@toolctrl/db/client";
import { setCapabilityQuota } from "@toolctrl/domain/plugins";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const AMOUNT = 3;
const USE = { pluginId: "translator", capability: "words" };
const EVENT: HandedOff = {
  queue: "outbox.plugin-capability-use",
  type: "plugin.capability-use.recorded",
  payload: { ...USE, amount: AMOUNT },
};

/** An effect is the use in its month's counter, with the notification that it has used the quota up. */
export const pluginCapabilityCount: Subject = {
  name: "plugin-capability-count",
  queue: EVENT.queue,
  app: () => partOf("plugin-capability-count"),
  consumers: consumersOf,
  async publish({ database, tenantId }) {
    await transaction(database.pool, (tx) => setCapabilityQuota(outboxTransactionOf(tx), { ...USE, tenantId, perMonth: BigInt(AMOUNT) }));
    return randomUUID();
  },
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "PluginUsage",
  async effects({ database, tenantId }) {
    const { rows } = await database.pool.query<{ used: string; told: number }>(
      `SELECT "used"::text AS "used", (SELECT count(*)::int FROM "OutboxEvent" e WHERE e."tenantId" = u."tenantId") AS "told"
         FROM "PluginUsage" u WHERE "tenantId" = $1`,
      [tenantId],
    );
    const [{ used, told } = { used: "0", told: 0 }] = rows;
    // Half an effect is none, and one that is told twice shows as well.
    return told === 0 ? 0 : Math.max(told, Number(used) / AMOUNT);
  },
};
