import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Consumer } from "@toolctrl/consumer/define";
import { startConsumers } from "@toolctrl/consumer/run";
import { createDatabase } from "@toolctrl/db/client";
import type { CapabilityUsage, PluginFunctions } from "@toolctrl/domain/plugins";
import { createRouter } from "@toolctrl/event-router/router";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { createPostgresStore } from "@toolctrl/shared-store/postgres";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { ROOT } from "../src/repository.ts";

type WorkerGeneral = {
  readEnv(source: Record<string, string>): object;
  createConsumers(env: object, deps: object): Record<string, Consumer>;
};

/** The parts of the app whose consumers the guide is about; an app exports nothing to other packages. */
async function loadWorkerGeneral(): Promise<WorkerGeneral> {
  const load = (file: string): Promise<object> => import(pathToFileURL(join(ROOT, "apps/worker-general/src", file)).href);
  return Object.assign({}, await load("env.ts"), await load("consumers.ts")) as WorkerGeneral;
}

const GUIDE = "docs/guides/plugins.md";
const log = createLogger({ app: "test", level: "silent" });

test("the plugins of the guide are called once each, the request verifies, and the use of a capability is counted", async () => {
  const { url } = await createTestDatabase();
  const database = await createDatabase({ url, poolMax: 8, app: "test", wakeup: false });
  const peer = await startHttpPeer();
  const env = { PLUGIN_URL: `${peer.url}/hook`, PLUGIN_SECRETS_KEY: Buffer.alloc(32, 6).toString("base64") };
  vi.stubGlobal("prisma", database.prisma);
  vi.stubGlobal("database", database);
  vi.stubGlobal("tenantId", "acme");
  vi.stubGlobal("env", env);
  await database.pool.query(
    `CREATE TABLE "LeadProfile" ("tenantId" text, "leadId" text, "company" text, "visits" integer);
     INSERT INTO "LeadProfile" VALUES ('acme', '7', NULL, 0)`,
  );

  const { subscriptions } = await runExample(exampleOf(GUIDE, "createPluginSubscription"));
  const { pluginFunctions } = await runExample(exampleOf(GUIDE, "PluginFunctions"));
  await runExample(exampleOf(GUIDE, `"plugin.hook.lead.created", payload`));
  const { usage: before } = await runExample(exampleOf(GUIDE, "mayUseCapability"));
  expect(before).toMatchObject({ used: 0n, perMonth: 10_000n } satisfies Partial<CapabilityUsage>);

  const { url: redisUrl, prefix } = createRedisNamespace();
  const backend = await createQueueBackend({ kind: "redis", redisUrl, prefix, attempts: 2, backoffMs: 20, log });
  const metrics = createMetrics({ processMetrics: false });
  const alerts = createAlerts({ app: "test", log });
  const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  const store = createPostgresStore({ pool: database.pool, log });
  const deps = { pool: database.pool, backend, http, metrics, log, pluginFunctions: pluginFunctions as PluginFunctions };
  const { createConsumers, readEnv } = await loadWorkerGeneral();
  const workerEnv = readEnv({ DATABASE_URL: url, PLUGIN_SECRETS_KEY: env.PLUGIN_SECRETS_KEY });
  const consumers = Object.values(createConsumers(workerEnv, deps)).filter(({ name }) => name.startsWith("plugin-"));
  const receiver = { ttlSeconds: 86_400, claimTtlMs: 30_000 };
  const running = startConsumers({ consumers, backend, pool: database.pool, store, receiver, metrics, log, alerts });
  onTestFinished(async () => {
    vi.unstubAllGlobals();
    await running.close(2000);
    await http.close();
    await store.close();
    await backend.close(2000);
    await database.close();
  });
  const settings = { intervalMs: 1000, batchSize: 10, concurrency: 1, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  await createBatchDispatcher({ pool: database.pool, router: createRouter(), backend, settings, metrics, alerts, log }).tick();
  const finished = async (): Promise<boolean> => {
    const { rows } = await database.pool.query(
      `SELECT 1 FROM "OutboxReceipt" WHERE "consumer" IN ('plugin-invoke', 'plugin-capability-count') AND "outcome" = 'done'`,
    );
    return rows.length === 2;
  };
  await waitFor(finished, { what: "the hook and the use to be finished", timeoutMs: 30_000 });

  expect((await database.pool.query(`SELECT "company", "visits" FROM "LeadProfile"`)).rows).toEqual([
    { company: "example.com", visits: 1 },
  ]);
  const [request] = peer.requests;
  if (request === undefined || peer.requests.length !== 1) throw new Error(`expected one request, got ${peer.requests.length}`);
  const { isOurs } = await runExample(exampleOf(GUIDE, "verifyWebhook"));
  const { secret } = (subscriptions as { crm: { secret: string } }).crm;
  expect((isOurs as (request: object, secret: string) => boolean)(request, secret)).toBe(true);
  expect(JSON.parse(request.text)).toMatchObject({ type: "plugin.hook.lead.created", data: { leadId: "7", email: "ann@example.com" } });
  const { usage: after } = await runExample(exampleOf(GUIDE, "mayUseCapability"));
  expect(after).toMatchObject({ used: 1200n });
});
