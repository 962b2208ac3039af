import { isIdle, openInstallation, receiptsOf, runConsumers, type Installation } from "@toolctrl/consumer-testkit/installation";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createRouter } from "@toolctrl/event-router/router";
import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { JsonObject } from "@toolctrl/foundation/json";
import { requeueEvents } from "@toolctrl/outbox-drainer/actions";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { traceEvent, type EventTrace } from "@toolctrl/outbox-drainer/stats";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { waitFor } from "@toolctrl/testkit/wait";
import { consumersOf } from "./app.ts";

export interface OneQueueRig extends Installation {
  /** Publishes in a transaction and hands the event off; returns its id. */
  publish(type: string, payload: JsonObject): Promise<string>;
  /** Writes an event as a publisher without the catalogue would, and hands it off. */
  publishUnchecked(type: string, payload: JsonObject): Promise<string>;
  /** Sends an event out again, and hands it off; `replay` repeats its effect. */
  requeue(id: string, options?: { replay?: boolean }): Promise<void>;
  /** Waits until the receipts of an event are these: `["search-index done"]`. */
  untilReceipts(id: string, receipts: readonly string[]): Promise<unknown>;
  /** Until no job of the queue waits or runs: a receipt commits before its job ends. */
  untilIdle(): Promise<unknown>;
  trace(id: string): Promise<EventTrace>;
}

/**
 * A database, a queue and a claim store, a consumer of the app that runs in this process, and the real way of an event into its queue. `env` is
 * what the consumer's environment has besides the installation's.
 */
export async function openOneQueue(consumer: ConsumerName, env: Readonly<Record<string, string>> = {}): Promise<OneQueueRig> {
  const installation = await openInstallation("redis");
  const { database, backend, metrics, log, tenantId } = installation;
  const { pool, prisma } = database;
  const made = consumersOf({ ...installation, appEnv: { ...installation.appEnv, ...env } });
  const consumers = made.consumers.filter(({ name }) => name === consumer);
  const running = runConsumers(installation, consumers);
  const router = createRouter();
  const alerts = createAlerts({ app: "test", log });
  const settings = { intervalMs: 1000, batchSize: 100, concurrency: 10, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  const dispatcher = createBatchDispatcher({ pool, router, backend, settings, metrics, alerts, log });
  return {
    ...installation,
    async publish(type, payload) {
      const { id } = await prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type, payload }));
      await dispatcher.tick();
      return id;
    },
    async publishUnchecked(type, payload) {
      const { rows } = await pool.query<{ id: string }>(
        `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload") VALUES (gen_random_uuid(), $1, $2, $3) RETURNING "id"`,
        [tenantId, type, JSON.stringify(payload)],
      );
      await dispatcher.tick();
      return rows[0]?.id ?? "";
    },
    async requeue(id, { replay = false } = {}) {
      const report = await requeueEvents({ pool, router }, { ids: [id], actor: "test", ...(replay ? { replay: { consumer } } : {}) });
      if (report.events[0]?.outcome !== "requeued") throw new Error(`expected ${id} to be requeued, got ${JSON.stringify(report)}`);
      await dispatcher.tick();
    },
    untilReceipts: (id, receipts) =>
      waitFor(async () => (await receiptsOf(installation, id)).join() === receipts.join(), {
        what: `the receipts ${receipts.join()}`,
        timeoutMs: 20_000,
      }),
    untilIdle: () =>
      waitFor(
        () =>
          isIdle(
            installation,
            consumers.map(({ queue }) => queue),
          ),
        { what: "the queue to be idle" },
      ),
    trace: (id) => traceEvent({ db: pool, router, backend }, id),
    async close() {
      await running.close(2000);
      await made.close();
      await installation.close();
    },
  };
}
