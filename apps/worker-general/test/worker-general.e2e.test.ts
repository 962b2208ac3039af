import { verifyAuditChain } from "@toolctrl/domain/audit";
import { publishOutboxEvent, publishOutboxEvents } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { openInstallation, startWorker } from "./support.ts";

describe.each(["redis", "postgres"] as const)("worker-general on %s", (kind) => {
  test("turns published events into notifications and audit entries, each with its receipt, and stops on SIGTERM with 0", async () => {
    const installation = await openInstallation(kind);
    const { prisma, pool } = installation.database;
    const worker = await startWorker(installation);
    const ids = await prisma.$transaction(async (tx) => {
      const events = [
        { tenantId: "acme", type: "notification.message.create", payload: { recipientId: "u1", title: "Hello" } },
        { tenantId: "acme", type: "billing.subscription.updated", payload: { subscriptionId: "s1" } },
        { tenantId: "acme", type: "tenant.subscription.past-due", payload: {} },
        { tenantId: "acme", type: "audit.entry.record", payload: { actor: "ann", action: "lead.update", object: "Lead", recordId: "1" } },
      ];
      const published = [];
      for (const event of events) published.push((await publishOutboxEvent(tx, event)).id);
      return published;
    });
    await waitFor(async () => (await pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "outcome" = 'done'`)).rowCount === 4, {
      timeoutMs: 30_000,
      what: "four receipts",
    });
    const { rows } = await pool.query(`SELECT "eventId", "title", "recipientId", "effectEpoch" FROM "Notification" ORDER BY "title"`);
    expect(rows).toEqual([
      { eventId: ids[1], title: "Billing subscription updated", recipientId: null, effectEpoch: 0 },
      { eventId: ids[0], title: "Hello", recipientId: "u1", effectEpoch: 0 },
      { eventId: ids[2], title: "Tenant subscription past due", recipientId: null, effectEpoch: 0 },
    ]);
    expect(await verifyAuditChain(pool, "acme")).toMatchObject({ ok: true, verified: 1 });
    const port = /"port":(\d+)/.exec(await worker.waitForLine(/health server listens/))?.[1];
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toMatch(/^outbox_backlog \d+$/m);
    expect(metrics).toMatch(/^outbox_consumer_deliveries_total\{consumer="audit-append",outcome="done"\} 1$/m);
    expect(metrics).not.toMatch(/acme|[0-9a-f]{8}-[0-9a-f]{4}-/);
    worker.kill("SIGTERM");
    expect(await worker.waitForExit()).toMatchObject({ code: 0 });
    expect((await pool.query(`SELECT 1 FROM "OutboxDrainer"`)).rowCount).toBe(0);
  });
});

test("200 audit events of one tenant, published at once and taken by two workers, become one gapless chain", async () => {
  const installation = await openInstallation();
  const { prisma, pool } = installation.database;
  const workers = await Promise.all([startWorker(installation), startWorker(installation)]);
  await prisma.$transaction((tx) =>
    publishOutboxEvents(
      tx,
      Array.from({ length: 200 }, (_, index) => ({
        tenantId: "acme",
        type: "audit.entry.record",
        payload: { actor: "ann", action: "lead.update", object: "Lead", recordId: String(index) },
      })),
    ),
  );
  await waitFor(async () => (await pool.query(`SELECT 1 FROM "AuditEntry"`)).rowCount === 200, {
    timeoutMs: 40_000,
    what: "200 audit entries",
  });
  expect(await verifyAuditChain(pool, "acme", { batchSize: 30 })).toMatchObject({ ok: true, verified: 200, headSequence: "200" });
  for (const worker of workers) worker.kill("SIGTERM");
  expect(await Promise.all(workers.map((worker) => worker.waitForExit()))).toMatchObject([{ code: 0 }, { code: 0 }]);
});
