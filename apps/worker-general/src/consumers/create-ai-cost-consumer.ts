import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { aiCostFor, recordAiCost } from "@toolctrl/domain/ai-costs";

const NAME = "ai-cost-record";

/** Writes costs into the ledger and its sums; the receipt is in their transaction. */
export function createAiCostConsumer(deps: { pool: Database["pool"] }): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.ai-cost",
    concurrency: 10,
    async handle(delivery) {
      const cost = aiCostFor(delivery);
      const source = { ...delivery, createdAt: delivery.envelope.createdAt };
      return databaseEffect(deps.pool, NAME, delivery, async (tx) => {
        await recordAiCost(tx, source, cost);
      });
    },
  };
}
