import type { Consumer } from "@toolctrl/consumer/define";
import { transaction, type Database } from "@toolctrl/db/client";
import { appendAuditEntry, auditEntryFor, canonicalJson } from "@toolctrl/domain/audit";
import { snoozeOnLockTimeout } from "./snooze-on-lock-timeout.ts";
import { withReceipt } from "./with-receipt.ts";

const NAME = "audit-append";

/** Appends events of `outbox.audit` to their tenant's hash chain; the receipt is in the entry's transaction. */
export function createAuditConsumer(deps: { pool: Database["pool"] }): Consumer {
  return {
    name: NAME,
    queue: "outbox.audit",
    concurrency: 10,
    handle: (delivery) =>
      snoozeOnLockTimeout(async () => {
        const entryJson = canonicalJson(auditEntryFor(delivery));
        await transaction(deps.pool, (tx) => withReceipt(tx, NAME, delivery, () => appendAuditEntry(tx, { ...delivery, entryJson })));
        return { kind: "done" };
      }),
  };
}
