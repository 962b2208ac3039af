import { randomUUID } from "node:crypto";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import type { Subject } from "@toolctrl/consumer-testkit/subject";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { transaction } from "@toolctrl/db/client";
import { appendAuditEntry, canonicalJson, verifyAuditChain } from "@toolctrl/domain/audit";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { expect } from "vitest";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.audit",
  type: "audit.entry.record",
  payload: { actor: "ann", action: "lead.update", object: "Lead", recordId: "1" },
};

/** An effect is an entry of the tenant's chain, which has one before it. */
export const auditAppend: Subject = {
  name: "audit-append",
  queue: EVENT.queue,
  app: () => partOf("audit-append"),
  consumers: consumersOf,
  async publish({ database, tenantId }) {
    const first = { tenantId, eventId: randomUUID(), effectEpoch: 0, entryJson: canonicalJson({ action: "lead.create" }) };
    await transaction(database.pool, (tx) => appendAuditEntry(tx, first));
    return randomUUID();
  },
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "AuditEntry",
  async effects({ database }, eventId) {
    return (await database.pool.query(`SELECT 1 FROM "AuditEntry" WHERE "eventId" = $1`, [eventId])).rowCount ?? 0;
  },
  async check({ database, tenantId }, eventId) {
    expect(await verifyAuditChain(database.pool, tenantId)).toMatchObject({ ok: true, verified: 2, headSequence: "2" });
    const { rows } = await database.pool.query(`SELECT "sequence" FROM "AuditEntry" WHERE "eventId" = $1`, [eventId]);
    expect(rows).toEqual([{ sequence: "2" }]);
  },
  /** Without its key the event has an entry more with each delivery. */
  removeProtection: (installation) => loseKey(installation, "AuditEntry", "effectEpoch"),
};
