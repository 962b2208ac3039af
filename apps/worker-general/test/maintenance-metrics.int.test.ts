import { randomUUID } from "node:crypto";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { readEnv } from "../src/env.ts";
import { MAINTENANCE_QUEUE, startMaintenance } from "../src/start-maintenance.ts";
import { openBackendOf, openInstallation } from "./support.ts";

const log = createLogger({ app: "test", level: "silent" });

test("a look for lost jobs tells how many events are on their way, and counts those that it sent out again", async () => {
  const installation = await openInstallation();
  const { database, env } = installation;
  const backend = await openBackendOf(installation);
  const ids = Array.from({ length: 5 }, () => randomUUID());
  await database.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "processedAt")
     SELECT id, 'acme', 'billing.invoice.paid', '{}', 'DONE', false, clock_timestamp() - interval '1 hour' FROM unnest($1::uuid[]) id`,
    [ids],
  );
  const [lost, waiting] = [ids.slice(0, 2), ids.slice(2)];
  await backend.addAll(
    waiting.map((id) => ({ queue: "outbox.notification" as const, id: jobIdFor(id), name: "billing.invoice.paid", data: {} })),
  );
  const metrics = createMetrics({ processMetrics: false });
  const maintenance = startMaintenance(readEnv(env), { database, backend, metrics, log });
  onTestFinished(() => maintenance.close(5000));
  await backend.addAll([{ queue: MAINTENANCE_QUEUE, id: "reconcile-1", name: "reconcile.run", data: {} }]);
  await waitFor(async () => (await metrics.text()).includes("outbox_reconciled_total 2"), { what: "the lost events to be counted" });
  expect(await metrics.text()).toMatch(/^outbox_unfinished 3$/m);
  const { rows } = await database.pool.query<{ id: string }>(`SELECT "id"::text AS "id" FROM "OutboxEvent" WHERE "status" = 'PENDING'`);
  expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(lost));
});
