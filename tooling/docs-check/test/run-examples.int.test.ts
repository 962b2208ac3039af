import type { Consumer } from "@toolctrl/consumer/define";
import { startConsumers } from "@toolctrl/consumer/run";
import { createEffects, type AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";
import { routeSubmission, type Form } from "@toolctrl/domain/forms";
import { createRouter } from "@toolctrl/event-router/router";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createPullWorkers } from "@toolctrl/outbox-drainer/pull-workers";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createPostgresStore } from "@toolctrl/shared-store/postgres";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { give, openDatabase } from "./given.ts";

const log = createLogger({ app: "test", level: "silent" });
const PUBLISH = "docs/guides/publish.md";

/** The reader's product: their Prisma client has a table of their own. */
function productOf(database: Database) {
  const subscription = { update: () => Promise.resolve({ id: "sub_1", tenantId: "acme", status: "active" }) };
  return {
    $transaction: <T>(run: (tx: object) => Promise<T>) =>
      database.prisma.$transaction((tx) =>
        run(new Proxy(tx, { get: (target, name): unknown => (name === "subscription" ? subscription : Reflect.get(target, name)) })),
      ),
  };
}

async function eventsOf(database: Database): Promise<Array<{ eventType: string; payload: unknown; dispatchKey: string | null }>> {
  return (await database.pool.query(`SELECT "eventType", "payload", "dispatchKey" FROM "OutboxEvent" ORDER BY "position"`)).rows;
}

function stubProduct(database: Database): void {
  give({ prisma: productOf(database), id: "sub_1", tenantId: "acme", stripeEvent: { id: "evt_1" } });
}

test("the examples that publish write the events they show", async () => {
  const { database } = await openDatabase();
  stubProduct(database);
  await runExample(exampleOf("README.md", "billing.subscription.updated"));
  await runExample(exampleOf(PUBLISH, "billing.subscription.updated"));
  await runExample(exampleOf(PUBLISH, "dispatchKey"));
  await runExample(exampleOf(PUBLISH, "dispatchKey"));
  await runExample(exampleOf(PUBLISH, "publishOutboxEvents"));
  await runExample(exampleOf(PUBLISH, "declare module"));
  const updated = { eventType: "billing.subscription.updated", payload: { subscriptionId: "sub_1", status: "active" } };
  expect(await eventsOf(database)).toMatchObject([
    { ...updated, dispatchKey: "stripe:evt_1" },
    { ...updated, dispatchKey: null },
    // The dispatch key of the third is the first's: nothing was written, twice.
    { eventType: "mail.message.send", payload: { to: "ann@example.com" } },
    { eventType: "audit.entry.record", payload: { recordId: "7" } },
    { eventType: "billing.invoice.paid", payload: { invoiceId: "in_1", cents: 4200, currency: "EUR" } },
  ]);
});

test("the examples on marketing publish a contact, suppress an address and lift it", async () => {
  const { database } = await openDatabase();
  stubProduct(database);
  await runExample(exampleOf("docs/guides/marketing.md", "marketing.lead.upsert"));
  await runExample(exampleOf("docs/guides/marketing.md", "suppressContact"));
  const sync = { eventType: "marketing.lead.sync", payload: { email: "bob@example.com" } };
  expect(await eventsOf(database)).toMatchObject([{ eventType: "marketing.lead.upsert", payload: { consent: "granted" } }, sync, sync]);
});

test("the form of the guide takes a double click as one submission, which becomes the lead and the messages of its rules", async () => {
  const { database } = await openDatabase();
  stubProduct(database);
  const { form } = await runExample(exampleOf("docs/guides/forms.md", "createForm"));
  vi.stubGlobal("formId", (form as Form).id);
  vi.stubGlobal("request", {
    id: "click-1",
    body: { fullName: "Ann", email: "ann@example.com", company: "ACME Inc", seats: 3, topic: "demo" },
  });
  const clicks = [1, 2].map(() => runExample(exampleOf("docs/guides/forms.md", "submitForm")));
  const [{ submission } = {}] = await Promise.all(clicks);
  const { id } = submission as { id: string };
  const routing = { tenantId: "acme", id, effectEpoch: 0, event: {} };
  expect(await transaction(database.pool, (tx) => routeSubmission(outboxTransactionOf(tx), routing))).toMatchObject({
    leadCreated: true,
    rules: ["lead", "thank-you", "large"],
    events: 3,
  });
  expect((await eventsOf(database)).map(({ eventType, dispatchKey }) => [eventType, dispatchKey])).toEqual([
    ["form.submission.received", `form:${(form as Form).id}:click-1`],
    ["record.lead.created", null],
    ["webhook.form.submitted", `form-route:${id}:large:0`],
    ["notification.message.create", `form-route:${id}:large:1`],
    ["mail.message.send", `form-route:${id}:thank-you:0`],
  ]);
});

test("the consumer of the guide has its effect once, however often its job is delivered, and refuses a payload it cannot use", async () => {
  const { database } = await openDatabase();
  await database.pool.query(`CREATE TABLE "AiCost" ("tenantId" text NOT NULL, "model" text NOT NULL, "cents" integer NOT NULL)`);
  const { createCostConsumer } = await runExample(exampleOf("docs/guides/consume.md", "createCostConsumer"));
  const consumer = (createCostConsumer as (deps: Pick<Database, "prisma">) => Consumer)(database);
  const { url: redisUrl, prefix } = createRedisNamespace();
  const backend = await createQueueBackend({ kind: "redis", redisUrl, prefix, attempts: 2, backoffMs: 20, log });
  const metrics = createMetrics({ processMetrics: false });
  const alerts = createAlerts({ app: "test", log });
  const receiver = { ttlSeconds: 86_400, claimTtlMs: 30_000 };
  const store = createPostgresStore({ pool: database.pool, log });
  const running = startConsumers({ consumers: [consumer], backend, pool: database.pool, store, receiver, metrics, log, alerts });
  onTestFinished(async () => {
    await running.close(2000);
    await store.close();
    await backend.close(2000);
  });
  const settings = { intervalMs: 1000, batchSize: 10, concurrency: 1, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  const dispatcher = createBatchDispatcher({ pool: database.pool, router: createRouter(), backend, settings, metrics, alerts, log });

  await database.prisma.$transaction(async (tx) => {
    // A type of the route that the catalogue leaves open.
    const event = { tenantId: "acme", type: "ai.cost.estimated" };
    await publishOutboxEvent(tx, { ...event, payload: { model: "small", cents: 3 } });
    await publishOutboxEvent(tx, { ...event, payload: { model: "small" } });
  });
  const receipts = async (): Promise<string[]> =>
    (await database.pool.query<{ outcome: string }>(`SELECT "outcome" FROM "OutboxReceipt" ORDER BY "outcome"`)).rows.map(
      (row) => row.outcome,
    );
  await dispatcher.tick();
  await waitFor(async () => (await receipts()).length === 2, { timeoutMs: 30_000, what: "both receipts" });
  expect(await receipts()).toEqual(["dead", "done"]);

  // The store forgets, and the job comes again under a new id: the receipt decides.
  await database.pool.query(`DELETE FROM "IdempotencyKey"`);
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'PENDING', "processedAt" = NULL, "blocksLine" = true, "generation" = 1 WHERE "payload" ? 'cents'`,
  );
  await dispatcher.tick();
  await waitFor(async () => (await metrics.text()).includes('outbox_duplicates_suppressed_total{consumer="ai-cost-record"} 1'), {
    timeoutMs: 30_000,
    what: "the second delivery to be suppressed",
  });
  expect((await database.pool.query(`SELECT * FROM "AiCost"`)).rows).toEqual([{ tenantId: "acme", model: "small", cents: 3 }]);
});

test("the after-save effect of the guide sets a total in the transaction that makes its event DONE, in the order of the record", async () => {
  const { database } = await openDatabase();
  await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
  await database.pool.query(
    `CREATE TABLE "OrderTotal" ("orderId" text PRIMARY KEY, "total" integer NOT NULL, "appliedPosition" bigint NOT NULL)`,
  );
  const { orderTotal } = await runExample(exampleOf("docs/guides/consume.md", "AfterSaveEffect"));
  const settings = { parallelism: 1, intervalMs: 1000, leaseMs: 60_000, lockTimeoutMs: 2000, maxRetries: 6, crashBudget: 6 };
  const backend = { addAll: () => Promise.reject(new Error("expected no hand-off, got one")) };
  const effects = createEffects([orderTotal as AfterSaveEffect]);
  const metrics = createMetrics({ processMetrics: false });
  const alerts = createAlerts({ app: "test", log });
  const workers = createPullWorkers({ database, router: createRouter(), effects, backend, settings, metrics, alerts, log });
  onTestFinished(() => workers.close(5000));
  await database.prisma.$transaction(async (tx) => {
    for (const total of [3, 5]) {
      const payload = { object: "order", recordId: "o1", after: { id: "o1", data: { total } } };
      await publishOutboxEvent(tx, { tenantId: "acme", type: "record.order.updated", payload });
    }
  });
  for (const total of [3, 5]) {
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "done" } });
    expect((await database.pool.query(`SELECT "total" FROM "OrderTotal"`)).rows).toEqual([{ total }]);
  }
  expect(await workers.runOnce()).toBeNull();
});

test("the guide's handler under withOutboxIdempotency runs once over two deliveries", async () => {
  const { database } = await openDatabase();
  const sharedStore = createPostgresStore({ pool: database.pool, log });
  onTestFinished(() => sharedStore.close());
  const sent: unknown[] = [];
  const job = { data: { outboxEventId: "0199f0a0-0000-7000-8000-000000000001", tenantId: "acme", payload: { to: "ann" } } };
  give({ database, sharedStore, job, sendMail: (payload: unknown) => Promise.resolve(void sent.push(payload)) });
  const code = exampleOf("docs/guides/consume.md", "await withOutboxIdempotency");
  await runExample(code);
  await runExample(code);
  expect(sent).toEqual([{ to: "ann" }]);
  expect((await database.pool.query(`SELECT "consumer", "outcome" FROM "OutboxReceipt"`)).rows).toEqual([
    { consumer: "mailer", outcome: "done" },
  ]);
});
