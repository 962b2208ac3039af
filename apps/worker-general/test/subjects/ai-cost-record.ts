import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.ai-cost",
  type: "ai.cost.recorded",
  payload: { model: "small", amount: "0.1", currency: "EUR", inputTokens: 100, outputTokens: 20 },
};

/** An effect is an entry of the ledger, which the sums of its tenant have to hold too. */
export const aiCostRecord: Subject = {
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
  async effects({ database }, eventId) {
    return (await database.pool.query(`SELECT 1 FROM "AiCostEntry" WHERE "eventId" = $1`, [eventId])).rowCount ?? 0;
  },
  async check({ database, tenantId }) {
    const { rows } = await database.pool.query<{ ledger: string; sums: string }>(
      `SELECT (SELECT count(*) || ' of ' || sum("amount") FROM "AiCostEntry" WHERE "tenantId" = $1) AS "ledger",
         (SELECT sum("entries") || ' of ' || sum("amount") FROM "AiCostDay" WHERE "tenantId" = $1) AS "sums"`,
      [tenantId],
    );
    const { ledger = "", sums = "" } = rows[0] ?? {};
    if (ledger !== sums) throw new Error(`expected the sums to be the ledger's, ${ledger}, got ${sums}`);
  },
  removeProtection: (installation) => loseKey(installation, "AiCostEntry", "effectEpoch"),
};
