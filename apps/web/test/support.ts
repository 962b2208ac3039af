// The web app in this process: its real server on a port of its own, on a database of its own, with a real HTTP peer for steps that call.
import { createDatabase, type Database } from "@toolctrl/db/client";
import { createApiKey } from "@toolctrl/domain/api-keys";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { createExecutionsService } from "@toolctrl/workflow/executions";
import { runExecution, type RunEnd, type RunnerDeps } from "@toolctrl/workflow/runner";
import { onTestFinished } from "vitest";
import { createServer } from "../src/create-server.ts";
import { createCredentialSource } from "../src/credentials/create-credential-source.ts";
import { readEnv } from "../src/env.ts";
import { listen } from "../src/listen.ts";
import { createRunsHere, type RunsHere } from "../src/runs-here.ts";
import { bridgeOf, streamLimits } from "../src/settings.ts";
import { createStreams } from "../src/streams.ts";

export const TENANT = "acme";
export const BRIDGE_SECRET = "b".repeat(40);
export const CREDENTIALS_KEY = Buffer.alloc(32, 5).toString("base64");

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly [name: string]: JsonValue } & {
    readonly error?: { code: string; message: string; fix: string; facts: JsonObject };
  };
}

export interface CallOptions {
  /** Default: a key of the tenant. */
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Web {
  readonly url: string;
  readonly key: string;
  readonly database: Database;
  readonly peer: HttpPeer;
  readonly metrics: Metrics;
  readonly runs: RunsHere;
  /** What its API can be asked to change: method and path, with the names of its parameters. */
  readonly routes: readonly string[];
  /** As a worker has it: without access to credentials. */
  readonly workerDeps: RunnerDeps;
  call(method: string, path: string, body?: JsonValue, options?: CallOptions): Promise<Answer>;
  /** A key of another tenant. */
  keyOf(tenantId: string): Promise<string>;
  /** Adds a live workflow; its id. */
  addWorkflow(definition: WorkflowDefinitionInput): Promise<string>;
  /** Starts a run; its id. */
  startRun(workflowId: string, input?: JsonObject): Promise<string>;
  /** Executes a run as a native worker does. */
  work(executionId: string): Promise<RunEnd>;
  /** The events of the outbox by type, oldest first. */
  published(): Promise<string[]>;
}

/** Opens the app with an environment of the test's, and a key of the tenant. */
export async function openWeb(settings: Readonly<Record<string, string>> = {}, databaseUrl?: string): Promise<Web> {
  const [{ url }, peer] = await Promise.all([createTestDatabase(), startHttpPeer()]);
  const env = readEnv({ NODE_ENV: "test", DATABASE_URL: databaseUrl ?? url, WEB_PORT: "0", ...settings });
  const log = createLogger({ app: "web", level: "silent" });
  const database = await createDatabase({ url: env.DATABASE_URL, poolMax: env.DATABASE_POOL_MAX, app: "web-test", wakeup: false });
  onTestFinished(() => database.close(500));
  const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  onTestFinished(() => http.close());
  const { pool } = database;
  const credentialsKey = env.WORKFLOW_CREDENTIALS_KEY ?? null;
  const workerDeps: RunnerDeps = { pool, http, credentials: null, log };
  const runner = { ...workerDeps, credentials: credentialsKey === null ? null : createCredentialSource(credentialsKey) };
  const service = createExecutionsService({ pool, executor: env.WORKFLOW_EXECUTOR ?? "native", runner });
  const metrics = createMetrics({ processMetrics: false });
  const runs = createRunsHere();
  const streams = createStreams(streamLimits(env), { service, runs, metrics });
  const alerts = createAlerts({ app: "web", log });
  const server = createServer({
    database,
    service,
    streams,
    credentialsKey,
    bridge: bridgeOf(env, { runner, runs }),
    metrics,
    alerts,
    log,
  });
  const routes: string[] = [];
  server.addHook("onRoute", ({ method, url }) => {
    const changing = [method].flat().filter((each) => each !== "GET" && each !== "HEAD");
    if (url.startsWith("/api/")) routes.push(...changing.map((each) => `${each} ${url}`));
  });
  const listening = await listen(server, { host: "127.0.0.1", port: 0, log });
  onTestFinished(async () => void (await Promise.all([runs.close(200), listening.close(500)])));
  const origin = `http://127.0.0.1:${listening.port}`;
  const keyOf = async (tenantId: string): Promise<string> => (await createApiKey(pool, { tenantId, name: "test" })).key;
  const key = await keyOf(TENANT);
  const call = (method: string, path: string, body?: JsonValue, options: CallOptions = {}): Promise<Answer> =>
    callApi(origin, { key, ...options }, method, path, body);
  return {
    url: origin,
    key,
    database,
    peer,
    metrics,
    runs,
    routes,
    workerDeps,
    call,
    keyOf,
    async addWorkflow(definition) {
      const created = await call("POST", "/api/workflows", { definition: definition as unknown as JsonValue });
      const { id } = (created.body as unknown as { workflow: { id: string } }).workflow;
      await call("POST", `/api/workflows/${id}/live`, { live: true });
      return id;
    },
    async startRun(workflowId, input = {}) {
      const { body } = await call("POST", `/api/workflows/${workflowId}/runs`, { input });
      return (body as unknown as { run: { id: string } }).run.id;
    },
    work: (executionId) => runExecution(workerDeps, { tenantId: TENANT, executionId }, new AbortController().signal),
    async published() {
      const { rows } = await pool.query<{ type: string }>(`SELECT "eventType" AS "type" FROM "OutboxEvent" e ORDER BY e."position"`);
      return rows.map(({ type }) => type);
    },
  };
}

/** One request with a key, and its answer in JSON. */
export async function callApi(origin: string, options: CallOptions, method: string, path: string, body?: JsonValue): Promise<Answer> {
  const response = await fetch(`${origin}${path}`, {
    method,
    headers: {
      ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Answer["body"] };
}
