import { createDatabase, type Database } from "@toolctrl/db/client";
import { createApiKey } from "@toolctrl/domain/api-keys";
import { createLogger } from "@toolctrl/runtime/logger";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { spawnNode } from "@toolctrl/testkit/process";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { createWorkflow, switchWorkflow } from "@toolctrl/workflow/definitions";
import { createExecutor } from "@toolctrl/workflow/executors";
import { endLostStream, readExecution } from "@toolctrl/workflow/executions";
import { expect, onTestFinished, test } from "vitest";
import { call, manual, note } from "./definitions.ts";
import { openStream, type EventReader } from "./read-events.ts";
import { BRIDGE_SECRET, callApi, TENANT } from "./support.ts";
import { startWebProcess, type WebProcess } from "./web-process.ts";

interface Scene {
  readonly database: Database;
  readonly peer: HttpPeer;
  readonly web: WebProcess;
  readonly key: string;
  readonly workflowId: string;
}

/** The app as a process, and a workflow whose first step calls a peer. */
async function openScene(env: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const [{ url }, peer] = await Promise.all([createTestDatabase(), startHttpPeer()]);
  const database = await createDatabase({ url, poolMax: 3, app: "test", wakeup: false });
  onTestFinished(() => database.close(500));
  const { pool } = database;
  const { key } = await createApiKey(pool, { tenantId: TENANT, name: "test" });
  const definition = manual([call("slow", peer.url), note("after")]);
  const { id: workflowId } = await createWorkflow(pool, { tenantId: TENANT, definition });
  await switchWorkflow(pool, { tenantId: TENANT, workflowId }, true);
  const web = await startWebProcess({ DATABASE_URL: url, OUTBOUND_HTTP_ALLOW: `127.0.0.1:${peer.port}`, ...env });
  return { database, peer, web, key, workflowId };
}

/** A streamed run in the middle of its first step. */
async function streamUntilCall({ web, key, workflowId, peer }: Scene): Promise<{ stream: EventReader; executionId: string }> {
  const stream = await openStream(web.url, key, workflowId);
  const first = await stream.next();
  await peer.nextRequest();
  return { stream, executionId: first?.data.run.id ?? "" };
}

/** A process that waits for this to be over is not seen to end. */
const LONG_GRACE = { SHUTDOWN_GRACE_MS: "300000" };

test("the app serves, says that it is ready, and ends at once and with 0 when it is told to", async () => {
  const { web, key } = await openScene();
  expect((await callApi(web.url, { key }, "GET", "/api/workflows")).status).toBe(200);
  expect((await fetch(`${web.healthUrl}/readyz`)).status).toBe(200);
  const metrics = await (await fetch(`${web.healthUrl}/metrics`)).text();
  expect(metrics).toContain(`web_requests_total{code="200"} 1`);
  // At least the first connection had to be opened.
  expect(metrics).toMatch(/^database_pool_wait_seconds_count [1-9]/m);
  web.kill("SIGTERM");
  expect(await web.waitForExit()).toEqual({ code: 0, signal: null });
});

test("told to end during a stream, it finishes the step, begins no other, the stream and the run say why, and it ends", async () => {
  const scene = await openScene(LONG_GRACE);
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  scene.peer.respond(async () => (await promise, { status: 200 }));
  const { stream, executionId } = await streamUntilCall(scene);
  scene.web.kill("SIGTERM");
  await scene.web.waitForLine(/"msg":"stopping"/);
  await waitFor(async () => (await fetch(`${scene.web.healthUrl}/readyz`)).status === 503, {
    what: "the process to say that it is not ready",
  });
  answer();
  const end = (await stream.rest()).at(-1);
  expect(end).toMatchObject({ event: "end", data: { run: { status: "error", reasonCode: "WORKFLOW.STREAM_STOPPED" } } });
  expect(await scene.web.waitForExit()).toEqual({ code: 0, signal: null });
  expect(await readExecution(scene.database.pool, { tenantId: TENANT, executionId })).toMatchObject({
    status: "error",
    reasonCode: "WORKFLOW.STREAM_STOPPED",
    steps: [
      { nodeId: "slow", status: "done" },
      { nodeId: "after", status: "cancelled" },
    ],
  });
});

test("told to end during a call that nobody answers, it cuts the call off in time, and the run has ended", async () => {
  const scene = await openScene({ SHUTDOWN_GRACE_MS: "10000" });
  scene.peer.respond(() => "hang");
  const { stream, executionId } = await streamUntilCall(scene);
  scene.web.kill("SIGTERM");
  expect((await stream.rest()).at(-1)).toMatchObject({ event: "end", data: { run: { status: "error" } } });
  expect(await scene.web.waitForExit()).toEqual({ code: 0, signal: null });
  const run = await readExecution(scene.database.pool, { tenantId: TENANT, executionId });
  expect(run).toMatchObject({ status: "error", steps: [{ nodeId: "slow", status: "failed", unknowns: 1 }] });
});

test("killed during a stream, its run ends once its lease is over, and not before", async () => {
  const scene = await openScene();
  scene.peer.respond(() => "hang");
  const { stream, executionId } = await streamUntilCall(scene);
  scene.web.kill("SIGKILL");
  await expect(stream.rest()).rejects.toThrow("terminated");
  const { pool } = scene.database;
  const key = { tenantId: TENANT, executionId };
  // What a worker does with the event that was published when the stream began.
  expect(await endLostStream(pool, key)).toBeGreaterThan(0);
  expect(await readExecution(pool, key)).toMatchObject({ status: "running" });
  await pool.query(`UPDATE "WorkflowExecution" SET "streamUntil" = clock_timestamp() - interval '1 second'`);
  expect(await endLostStream(pool, key)).toBeNull();
  expect(await readExecution(pool, key)).toMatchObject({ status: "error", reasonCode: "WORKFLOW.STREAM_LOST" });
  const { rows } = await pool.query<{ type: string }>(`SELECT "eventType" AS "type" FROM "OutboxEvent" WHERE "scheduledAt" > "createdAt"`);
  expect(rows).toEqual([{ type: "workflow.execution.continue.requested" }]);
});

test("told to end while it executes a run for a worker, it finishes the step, says that the run is not at its end, and ends", async () => {
  const scene = await openScene({ ...LONG_GRACE, WORKFLOW_BRIDGE_SECRET: BRIDGE_SECRET });
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  scene.peer.respond(async () => (await promise, { status: 200 }));
  const { web, peer, database, key, workflowId } = scene;
  const { body } = await callApi(web.url, { key }, "POST", `/api/workflows/${workflowId}/runs`);
  const executionId = (body as unknown as { run: { id: string } }).run.id;
  const runner = { pool: database.pool, http: { request: () => Promise.reject(new Error("expected no call of the worker's own")) } };
  const bridge = { url: web.url, secret: BRIDGE_SECRET, deadlineMs: 20_000 };
  const executor = createExecutor({ kind: "http", bridge }, { ...runner, log: createLogger({ app: "test", level: "silent" }) });
  const execution = executor.execute({ tenantId: TENANT, executionId }, new AbortController().signal);
  await peer.nextRequest();
  web.kill("SIGTERM");
  await web.waitForLine(/"msg":"stopping"/);
  answer();
  expect(await execution).toEqual({ kind: "interrupted" });
  expect(await web.waitForExit()).toEqual({ code: 0, signal: null });
  expect(await readExecution(database.pool, { tenantId: TENANT, executionId })).toMatchObject({
    status: "running",
    steps: [
      { nodeId: "slow", status: "done" },
      { nodeId: "after", status: "ready" },
    ],
  });
});

test("a bad environment is refused with every problem at once, and no secret is shown", async () => {
  const child = spawnNode(new URL("../src/main.ts", import.meta.url), {
    env: { DATABASE_URL: "postgres://db", WEB_PORT: "http", WORKFLOW_CREDENTIALS_KEY: "hunter2", WORKFLOW_BRIDGE_SECRET: "hunter2" },
  });
  expect(await child.waitForExit()).toEqual({ code: 1, signal: null });
  expect(child.stderr().match(/^ {2}- /gm)).toHaveLength(3);
  expect(child.stderr()).not.toContain("hunter2");
});
