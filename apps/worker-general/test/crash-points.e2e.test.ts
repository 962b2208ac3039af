import { randomUUID } from "node:crypto";
import { crashConsumers, type CrashJourney } from "@toolctrl/consumer-testkit/crash-journey";
import type { Installation } from "@toolctrl/consumer-testkit/installation";
import { transaction } from "@toolctrl/db/client";
import { appendAuditEntry, canonicalJson, verifyAuditChain } from "@toolctrl/domain/audit";
import { describe, expect, test } from "vitest";
import { consumersOf, EVENTS, partOf, QUEUE_OF, type ConsumerName } from "./app.ts";
import { crashCleanup } from "./crash-cleanup.ts";

function journey(consumer: ConsumerName, about: Pick<CrashJourney, "check"> & Partial<CrashJourney>): CrashJourney {
  return {
    app: partOf(consumer),
    backend: "redis",
    events: [EVENTS[consumer]],
    crashing: [consumer],
    finishing: [consumer],
    queues: [QUEUE_OF[consumer]],
    consumers: consumersOf,
    ...about,
  };
}

const notification = journey("notification-create", { check: expectOneNotification });
const audit = journey("audit-append", { prepare: startChain, check: expectNextEntry });

async function expectOneNotification(installation: Installation, [eventId = ""]: readonly string[]): Promise<void> {
  const { rows } = await installation.database.pool.query(`SELECT "eventId", "title", "effectEpoch" FROM "Notification"`);
  expect(rows).toEqual([{ eventId, title: "Hello", effectEpoch: 0 }]);
  await expectOneReceipt(installation, eventId, "notification-create");
}

async function startChain({ database, tenantId }: Installation): Promise<void> {
  const first = { tenantId, eventId: randomUUID(), effectEpoch: 0, entryJson: canonicalJson({ action: "lead.create" }) };
  await transaction(database.pool, (tx) => appendAuditEntry(tx, first));
}

async function expectNextEntry(installation: Installation, [eventId = ""]: readonly string[]): Promise<void> {
  const { database, tenantId } = installation;
  expect(await verifyAuditChain(database.pool, tenantId)).toMatchObject({ ok: true, verified: 2, headSequence: "2" });
  const { rows } = await database.pool.query(`SELECT "sequence" FROM "AuditEntry" WHERE "eventId" = $1`, [eventId]);
  expect(rows).toEqual([{ sequence: "2" }]);
  await expectOneReceipt(installation, eventId, "audit-append");
}

/** One receipt, and a job on which the crash used no attempt. */
async function expectOneReceipt({ database, backend }: Installation, eventId: string, consumer: ConsumerName): Promise<void> {
  const { rows } = await database.pool.query(`SELECT "consumer", "outcome", "effectEpoch" FROM "OutboxReceipt" WHERE "eventId" = $1`, [
    eventId,
  ]);
  expect(rows).toEqual([{ consumer, outcome: "done", effectEpoch: 0 }]);
  expect(await backend.find(QUEUE_OF[consumer], `outbox-${eventId}`)).toMatchObject({ state: "completed", failures: 0 });
}

describe("ended after any call, the rows are there exactly once:", () => {
  test.for([
    { name: "notification-create", least: 10, run: () => crashConsumers(notification) },
    { name: "audit-append", least: 11, run: () => crashConsumers(audit) },
    { name: "cleanup.run", least: 15, run: crashCleanup },
  ])("$name ($least calls at least)", { timeout: 300_000 }, async ({ least, run }, { annotate }) => {
    const points = await run();
    await annotate(`${points.length} crash points`);
    expect(points.length, `${points.length} crash points`).toBeGreaterThanOrEqual(least);
  });
});
