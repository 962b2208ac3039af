import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { appendAuditEntry, auditEntryFor, canonicalJson } from "@toolctrl/domain/audit";

const NAME = "audit-append";

/** Appends events of `outbox.audit` to their tenant's hash chain; the receipt is in the entry's transaction. */
export function createAuditConsumer(deps: { pool: Database["pool"] }): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.audit",
    concurrency: 10,
    async handle(delivery) {
      const entryJson = canonicalJson(auditEntryFor(delivery));
      return databaseEffect(deps.pool, NAME, delivery, async (tx) => {
        await appendAuditEntry(tx, { ...delivery, entryJson });
      });
    },
  };
}
