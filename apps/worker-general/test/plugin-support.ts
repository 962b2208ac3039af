import type { Consumer, Delivery } from "@toolctrl/consumer/define";
import {
  envelopeOf,
  openInstallation,
  openSharedDatabase,
  runConsumers,
  type Installation,
  type SharedDatabase,
} from "@toolctrl/consumer-testkit/installation";
import { listReceipts } from "@toolctrl/db/receipts";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createPluginSubscription, type PluginFunctions } from "@toolctrl/domain/plugins";
import { createRouter } from "@toolctrl/event-router/router";
import type { JsonObject } from "@toolctrl/foundation/json";
import { requeueEvents } from "@toolctrl/outbox-drainer/actions";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { traceEvent } from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { openHttp } from "@toolctrl/worker/resources";
import { afterAll, onTestFinished } from "vitest";
import { createConsumers } from "../src/consumers.ts";
import { readEnv } from "../src/env.ts";

/** Encrypts the secrets of HTTP subscriptions. */
export const SECRETS_KEY = Buffer.alloc(32, 5).toString("base64");
export const HOOK = "plugin.hook.lead.created";
export const LEAD = { lead: "7", note: "ünïcödé \u2028 & <b>" };

export interface IntentRow {
  readonly target: string;
  readonly effectEpoch: number;
  readonly state: string;
  readonly attempts: number;
  readonly unknowns: number;
  readonly externalId: string;
  readonly lastErrorCode: string | null;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  readonly backend?: Pick<QueueBackend, "addAll">;
  /** The consumers to run, by the beginning of their names; default: all of plugins. */
  readonly only?: string;
}

export interface PluginRig extends Installation {
  readonly peer: HttpPeer;
  /** Subscribes a function of the worker to the hooks of the tenant. */
  subscribe(functionName: string, eventPrefixes?: readonly string[], tenantId?: string): Promise<string>;
  /** Subscribes a path of the peer. */
  subscribeUrl(path: string, options?: { secretsKey?: string }): Promise<{ id: string; secret: string }>;
  /** Runs the consumers of plugins as the app makes them. */
  start(functions?: PluginFunctions, options?: StartOptions): { close(): Promise<void> };
  /** The consumer that calls plugins, with nothing around it. */
  invoker(functions: PluginFunctions): Consumer;
  /** A delivery of the hook of one subscription. */
  deliveryOf(eventId: string, target: string): Delivery;
  /** Hands off what is due. */
  handOff(): Promise<void>;
  /** Publishes in a transaction and hands the event off; returns its id. */
  publish(type?: string, payload?: JsonObject): Promise<string>;
  requeue(id: string, replayConsumer?: string): Promise<void>;
  /** The receipts of an event, and outcome and epoch of each: `{ "plugin-fanout": "done 0" }`; of several epochs the last. */
  receipts(id: string): Promise<Record<string, string>>;
  untilReceipt(id: string, consumer: string, outcome?: string): Promise<unknown>;
  intents(id: string): Promise<IntentRow[]>;
  verdict(id: string): Promise<string>;
  untilIdle(): Promise<unknown>;
}

let shared: Promise<SharedDatabase> | undefined;
afterAll(async () => (await shared)?.close());

/** A tenant, a queue and a claim store of the test's own, on the file's database; a peer; and the real way of an event into its queue. */
export async function openPlugins(): Promise<PluginRig> {
  const installation = await openInstallation("redis", { claimTtlMs: 5000, on: await (shared ??= openSharedDatabase()) });
  onTestFinished(() => installation.close());
  const peer = await startHttpPeer();
  const { database, backend, metrics, log, tenantId } = installation;
  const { pool, prisma } = database;
  const router = createRouter();
  const alerts = createAlerts({ app: "test", log });
  const settings = { intervalMs: 1000, batchSize: 100, concurrency: 10, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  const dispatcher = createBatchDispatcher({ pool, router, backend, settings, metrics, alerts, log });
  return {
    ...installation,
    peer,
    subscribe: async (functionName, eventPrefixes = [], tenant = tenantId) => {
      const subscription = { tenantId: tenant, pluginId: "p", eventPrefixes, kind: "function", functionName } as const;
      return (await prisma.$transaction((tx) => createPluginSubscription(tx, subscription))).id;
    },
    async subscribeUrl(path, { secretsKey = SECRETS_KEY } = {}) {
      const subscription = { tenantId, pluginId: "p", eventPrefixes: [], kind: "http", url: `${peer.url}${path}`, secretsKey } as const;
      const { id, secret } = await prisma.$transaction((tx) => createPluginSubscription(tx, subscription));
      return { id, secret: secret ?? "" };
    },
    start(functions = {}, options: StartOptions = {}) {
      const env = readEnv({ ...installation.appEnv, ...pluginEnvOf(peer.port), ...options.env });
      const http = openHttp(env);
      const deps = { pool, backend: options.backend ?? backend, http, metrics, log, pluginFunctions: functions };
      const consumers = Object.values(createConsumers(env, deps)).filter(({ name }) => name.startsWith(options.only ?? "plugin-"));
      const running = runConsumers(installation, consumers);
      const close = async (): Promise<void> => {
        await running.close(2000);
        await http.close();
      };
      onTestFinished(close);
      return { close };
    },
    invoker(functions) {
      const env = readEnv({ ...installation.appEnv, ...pluginEnvOf(peer.port) });
      const deps = {
        pool,
        backend,
        http: { request: () => Promise.reject(new Error("no call")) },
        metrics,
        log,
        pluginFunctions: functions,
      };
      return createConsumers(env, deps)["plugin-invoke"];
    },
    deliveryOf(eventId, target) {
      const envelope = { ...envelopeOf(installation, { queue: "toolctrl.plugin-invoke", type: HOOK, payload: LEAD }, { eventId }), target };
      const signal = new AbortController().signal;
      return { eventId, tenantId, type: HOOK, payload: LEAD, effectEpoch: 0, envelope, failures: 0, maxAttempts: 8, signal };
    },
    async handOff() {
      await dispatcher.tick();
    },
    async publish(type = HOOK, payload = LEAD) {
      const { id } = await prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type, payload }));
      await dispatcher.tick();
      return id;
    },
    async requeue(id, consumer) {
      const { events } = await requeueEvents(
        { pool, router },
        { ids: [id], actor: "test", ...(consumer === undefined ? {} : { replay: { consumer } }) },
      );
      if (events[0]?.outcome !== "requeued") throw new Error(`expected ${id} to be requeued, got ${JSON.stringify(events)}`);
      await dispatcher.tick();
    },
    receipts,
    untilReceipt: (id, consumer, outcome = "done 0") =>
      waitFor(async () => (await receipts(id))[consumer] === outcome, { what: `receipt ${outcome} of ${consumer}`, timeoutMs: 20_000 }),
    async intents(id) {
      const { rows } = await pool.query<IntentRow>(
        `SELECT "target", "effectEpoch", "state", "attempts", "unknowns", "externalId", "lastErrorCode"
           FROM "OutboxIntent" WHERE "eventId" = $1 ORDER BY "effectEpoch", "target"`,
        [id],
      );
      return rows;
    },
    verdict: async (id) => (await traceEvent({ db: pool, router, backend }, id)).verdict.state,
    untilIdle: () =>
      waitFor(
        async () => {
          const counts = await Promise.all([backend.counts("outbox.plugin-hook"), backend.counts("toolctrl.plugin-invoke")]);
          return counts.every(({ waiting, active, delayed }) => waiting + active + delayed === 0);
        },
        { what: "the queues of plugins to be idle", timeoutMs: 20_000 },
      ),
  };

  async function receipts(id: string): Promise<Record<string, string>> {
    const found = await listReceipts(pool, id);
    const inOrder = found.toSorted((a, b) => a.effectEpoch - b.effectEpoch);
    return Object.fromEntries(inOrder.map(({ consumer, outcome, effectEpoch }) => [consumer, `${outcome} ${effectEpoch}`]));
  }
}

/** What the app needs for plugins; waits are short. */
export function pluginEnvOf(port: number): Record<string, string> {
  return {
    PLUGIN_SECRETS_KEY: SECRETS_KEY,
    PLUGIN_MAX_ATTEMPTS: "3",
    PLUGIN_BACKOFF_MS: "20",
    PLUGIN_DEADLINE_MS: "1500",
    OUTBOUND_HTTP_ALLOW: `127.0.0.1:${port}`,
  };
}
