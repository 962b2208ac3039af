import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import { createPluginSubscription } from "@toolctrl/domain/plugins";
import { handedOnJobId } from "@toolctrl/queue/handed-on-jobs";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = { queue: "outbox.plugin-hook", type: "plugin.hook.lead.created", payload: { lead: "7" } };

/** An effect is an intent for each subscription, which its job finds; there are two subscriptions. */
export const pluginFanout: Subject = {
  name: "plugin-fanout",
  queue: EVENT.queue,
  app: () => partOf("plugin-fanout"),
  consumers: consumersOf,
  async publish({ database, tenantId }) {
    const subscription = { tenantId, pluginId: "p", eventPrefixes: [], kind: "function", functionName: "f" } as const;
    await database.prisma.$transaction(async (tx) => {
      await createPluginSubscription(tx, subscription);
      await createPluginSubscription(tx, subscription);
    });
    return randomUUID();
  },
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "PluginSubscription",
  async effects({ database, tenantId }, eventId) {
    const { rows } = await database.pool.query<{ intents: number }>(
      `SELECT count(i."id")::int AS "intents" FROM "PluginSubscription" s
         LEFT JOIN "OutboxIntent" i ON i."eventId" = $1 AND starts_with(i."target", s."id"::text) WHERE s."tenantId" = $2 GROUP BY s."id"`,
      [eventId, tenantId],
    );
    const counts = rows.map(({ intents }) => intents);
    // Half an effect is none.
    return counts.includes(0) ? 0 : Math.max(...counts);
  },
  async check({ database, backend }, eventId) {
    const { rows } = await database.pool.query<{ target: string }>(`SELECT "target" FROM "OutboxIntent" WHERE "eventId" = $1`, [eventId]);
    for (const { target } of rows) {
      const jobId = handedOnJobId("plugin-invoke", { id: eventId, generation: 0 }, target);
      const job = await backend.find("toolctrl.plugin-invoke", jobId);
      if (job?.state !== "waiting") throw new Error(`expected job ${jobId} to wait, got ${job?.state ?? "none"}`);
    }
  },
  /** Without their key there are intents more with each delivery. */
  async removeProtection({ database }) {
    await database.pool.query(
      `CREATE FUNCTION "loseKey"() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN NEW."target" := NEW."target" || '-' || gen_random_uuid(); RETURN NEW; END $$;
       CREATE TRIGGER "loseKey" BEFORE INSERT ON "OutboxIntent" FOR EACH ROW EXECUTE FUNCTION "loseKey"()`,
    );
  },
};
