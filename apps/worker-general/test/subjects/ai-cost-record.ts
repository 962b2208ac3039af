import { randomUUID } from "node:crypto";
import type { ConsumerUnderTest } from "@toolctrl/consumer-testkit/duplicate-deliveries";
import { deliver, type HandedOff, type Installation } from "@toolctrl/consumer-testkit/installation";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.ai-cost",
  type: "ai.cost.recorded",
  payload: { model: "small", amount: "0.1", currency: "EUR", inputTokens: 100, outputTokens: 20 },
};

/** An effect is an entry of the ledger. It must be in the sums too: a sum that counts otherwise is told as that number. */
export const aiCostRecord: ConsumerUnderTest & { removeProtection(installation: Installation): Promise<void> } = {
  name: "ai-cost-record",
  queue: EVENT.queue,
  app: () => partOf("ai-cost-record"),
  consumers: consumersOf,
  publish: () => Promise.resolve(randomUUID()),
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "AiCostDay",
  async effects({ database, tenantId }, eventId) {
    const { rows } = await database.pool.query<{ entries: number; counted: number }>(
      `SELECT (SELECT count(*)::int FROM "AiCostEntry" WHERE "eventId" = $1) AS "entries",
         (SELECT COALESCE(sum("entries"), 0)::int FROM "AiCostDay" WHERE "tenantId" = $2) AS "counted"`,
      [eventId, tenantId],
    );
    const { entries = 0, counted = 0 } = rows[0] ?? {};
    return Math.max(entries, counted);
  },
  /** Without its key the ledger takes an entry with each delivery. */
  async removeProtection({ database }) {
    await database.pool.query(`ALTER TABLE "AiCostEntry" DROP CONSTRAINT "AiCostEntry_pkey"`);
  },
};
