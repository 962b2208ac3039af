import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { applySearchChange, searchChangeFor } from "@toolctrl/domain/search";

const NAME = "search-index";

/** Keeps the documents of the search; the receipt is in the document's transaction, and says whether a younger event had been there. */
export function createSearchConsumer(deps: { pool: Database["pool"] }): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.search-index",
    concurrency: 10,
    async handle(delivery) {
      const change = searchChangeFor(delivery);
      const source = { ...delivery, position: delivery.envelope.position };
      return databaseEffect(deps.pool, NAME, delivery, async (tx) => ({ applied: await applySearchChange(tx, source, change) }));
    },
  };
}
