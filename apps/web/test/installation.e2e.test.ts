// The web app beside a worker, each a process of its own, as an installation runs them.
import { isDeepStrictEqual } from "node:util";
import { createDatabase } from "@toolctrl/db/client";
import { createApiKey } from "@toolctrl/domain/api-keys";
import type { JsonValue } from "@toolctrl/foundation/json";
import { MAX_WORKFLOW_DEPTH, type WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { spawnNode } from "@toolctrl/testkit/process";
import { createRedisNamespace } from "@toolctrl/testkit/redis-server";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { ask, call, manual, note } from "./definitions.ts";
import { openStream } from "./read-events.ts";
import { BRIDGE_SECRET, callApi, CREDENTIALS_KEY, TENANT, type Answer } from "./support.ts";
import { startWebProcess } from "./web-process.ts";

/** They load one after the other. */
const TWO_PROCESSES = { timeout: 120_000 };

const SHARED = { NODE_ENV: "test", WORKFLOW_EXECUTOR: "hybrid", WORKFLOW_BRIDGE_SECRET: BRIDGE_SECRET };

async function openInstallation() {
  const [{ url }, peer, redis] = [await createTestDatabase(), await startHttpPeer(), createRedisNamespace()];
  const database = await createDatabase({ url, poolMax: 3, app: "test" });
  onTestFinished(() => database.close(500));
  const { key } = await createApiKey(database.pool, { tenantId: TENANT, name: "test" });
  const env = { ...SHARED, DATABASE_URL: url, OUTBOUND_HTTP_ALLOW: `127.0.0.1:${peer.port}` };
  const web = await startWebProcess({ ...env, WORKFLOW_CREDENTIALS_KEY: CREDENTIALS_KEY });
  const api = (method: string, path: string, body?: JsonValue): Promise<Answer> => callApi(web.url, { key }, method, path, body);
  const queue = { QUEUE_BACKEND: "redis", REDIS_URL: redis.url, QUEUE_PREFIX: redis.prefix };
  return {
    database,
    peer,
    web,
    key,
    api,
    async startWorker() {
      const drainer = { OUTBOX_DISPATCHER_ENABLED: "true", OUTBOX_DISPATCH_INTERVAL_MS: "50", WORKFLOW_BRIDGE_URL: web.url };
      const calls = { OUTBOUND_HTTP_ALLOW: `${env.OUTBOUND_HTTP_ALLOW},${new URL(web.url).host}` };
      const worker = spawnNode(new URL("../../worker-general/src/main.ts", import.meta.url), {
        env: { ...env, ...queue, ...drainer, ...calls },
      });
      await worker.waitForLine(/"msg":"health server listens"/);
    },
    async addWorkflow(definition: WorkflowDefinitionInput): Promise<string> {
      const { body } = await api("POST", "/api/workflows", { definition: definition as unknown as JsonValue });
      const { id } = (body as unknown as { workflow: { id: string } }).workflow;
      await api("POST", `/api/workflows/${id}/live`, { live: true });
      return id;
    },
    untilStatus: (runId: string, status: string): Promise<unknown> =>
      waitFor(
        async () => {
          const { run } = (await api("GET", `/api/runs/${runId}`)).body as unknown as { run: { status: string } };
          return run.status === status ? run : null;
        },
        { what: `run ${runId} to be ${status}`, timeoutMs: 30_000 },
      ),
  };
}

test(
  "a run that is started over the API is executed by the worker, but for the step with a credential; its answer goes the same way",
  TWO_PROCESSES,
  async () => {
    const installation = await openInstallation();
    const { api, peer } = installation;
    await installation.startWorker();
    const stored = await api("POST", "/api/credentials", { name: "payments", header: "x-key", secret: "s3cret" });
    const { id: credentialId } = (stored.body as unknown as { credential: { id: string } }).credential;
    const workflowId = await installation.addWorkflow(manual([ask("approve"), call("pay", peer.url, credentialId), note("paid")]));
    const started = await api("POST", `/api/workflows/${workflowId}/runs`);
    const runId = (started.body as unknown as { run: { id: string } }).run.id;
    await installation.untilStatus(runId, "waiting");
    const { inputs } = (await api("GET", "/api/inputs")).body as unknown as { inputs: Array<{ id: string }> };
    expect(await api("POST", `/api/inputs/${inputs[0]?.id}`, { value: { answer: "yes" } })).toMatchObject({ status: 200 });
    expect(await installation.untilStatus(runId, "success")).toMatchObject({
      steps: ["approve", "pay", "paid"].map((nodeId) => ({ nodeId, status: "done" })),
    });
    expect(peer.requests).toMatchObject([{ path: "/pay", headers: { "x-key": "s3cret" } }]);
  },
);

test(
  "a workflow that sends the form that starts it is stopped, with the reason on record, and another form's workflow runs",
  TWO_PROCESSES,
  async () => {
    const installation = await openInstallation();
    const { api, web, key, database } = installation;
    await installation.startWorker();
    const [looped, other] = [await addForm(api), await addForm(api)];
    const again = {
      method: "POST",
      url: `${web.url}/api/forms/${looped}/submissions`,
      headers: { authorization: `Bearer ${key}` },
      body: { json: { data: { email: "{{ trigger.data.email }}" } } },
    } as const;
    const loop = await installation.addWorkflow(
      manual([{ id: "again", block: "httpRequest", config: again }], { type: "form", formId: looped }),
    );
    const plain = await installation.addWorkflow(manual([note("sent")], { type: "form", formId: other }));
    for (const id of [looped, other]) {
      expect(await api("POST", `/api/forms/${id}/submissions`, { data: { email: "ann@example.com" } })).toMatchObject({ status: 201 });
    }
    const runs = async (): Promise<unknown[]> => {
      const sql = `SELECT "workflowId"::text AS "workflowId", "depth", "status", "reasonCode" FROM "WorkflowExecution" ORDER BY "workflowId" = $1::uuid, "depth"`;
      return (await database.pool.query(sql, [loop])).rows;
    };
    const done = { status: "success", reasonCode: null };
    const turns = Array.from({ length: MAX_WORKFLOW_DEPTH }, (_, depth) => ({ workflowId: loop, depth, ...done }));
    const stopped = { workflowId: loop, depth: MAX_WORKFLOW_DEPTH, status: "rejected", reasonCode: "WORKFLOW.LOOP_STOPPED" };
    const expected = [{ workflowId: plain, depth: 0, ...done }, ...turns, stopped];
    await waitFor(async () => isDeepStrictEqual(await runs(), expected), { what: "the loop to be stopped", timeoutMs: 30_000 });
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(*)::int AS "n" FROM "FormSubmission" WHERE "formId" = $1::uuid`,
      [looped],
    );
    // One of a person, and one of each run that was not stopped.
    expect(rows).toEqual([{ n: 1 + MAX_WORKFLOW_DEPTH }]);
  },
);

async function addForm(api: (method: string, path: string, body: JsonValue) => Promise<Answer>): Promise<string> {
  const { body } = await api("POST", "/api/forms", { name: "Ask", fields: [{ name: "email", kind: "email", required: true }] });
  return (body as unknown as { form: { id: string } }).form.id;
}

test(
  "a run whose web process is killed in the middle of its stream is ended by a worker, once its lease is over",
  TWO_PROCESSES,
  async () => {
    const installation = await openInstallation();
    const { web, peer, database, key } = installation;
    peer.respond(() => "hang");
    const stream = await openStream(web.url, key, await installation.addWorkflow(manual([call("slow", peer.url), note("after")])));
    const runId = (await stream.next())?.data.run.id ?? "";
    await peer.nextRequest();
    web.kill("SIGKILL");
    await expect(stream.rest()).rejects.toThrow("terminated");
    await database.pool.query(`UPDATE "WorkflowExecution" SET "streamUntil" = clock_timestamp() - interval '1 second'`);
    await database.pool.query(`UPDATE "OutboxEvent" SET "scheduledAt" = clock_timestamp() WHERE "scheduledAt" > clock_timestamp()`);
    await installation.startWorker();
    const ended = async (): Promise<boolean> => {
      const found = `SELECT 1 FROM "WorkflowExecution" WHERE "id" = $1::uuid AND "status" = 'error' AND "reasonCode" = 'WORKFLOW.STREAM_LOST'`;
      return (await database.pool.query(found, [runId])).rowCount === 1;
    };
    await waitFor(ended, { what: "the worker to end the run", timeoutMs: 30_000 });
    const { rows } = await database.pool.query(`SELECT 1 FROM "Row"`);
    expect(rows).toEqual([]);
  },
);
