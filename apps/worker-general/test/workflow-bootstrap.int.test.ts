import { openInstallation, runConsumers, type Installation } from "@toolctrl/consumer-testkit/installation";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createRouter } from "@toolctrl/event-router/router";
import { checkWorkflow } from "@toolctrl/foundation/workflows";
import { createBatchDispatcher } from "@toolctrl/outbox-drainer/batch-dispatcher";
import { createAlerts } from "@toolctrl/runtime/alerts";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { consumersWith } from "./consumers-with.ts";
import { chainOf } from "./workflows.ts";

/** As its main file makes them. */
function madeWith(installation: Installation, settings: Record<string, string>) {
  const made = consumersWith(installation, settings);
  onTestFinished(() => made.http.close());
  return made;
}

const RUN = "0190a0a0-0000-7000-8000-000000000001";

async function openRig(): Promise<Installation> {
  const installation = await openInstallation("redis");
  onTestFinished(() => installation.close());
  return installation;
}

test("the app has one consumer of outbox.workflow, as concurrent as its environment says", async () => {
  const { consumers } = madeWith(await openRig(), { WORKFLOW_CONCURRENCY: "7" });
  const ours = Object.values(consumers).filter(({ queue }) => queue === "outbox.workflow");
  expect(ours).toMatchObject([{ name: "workflow-trigger", concurrency: 7 }]);
});

/** What the worker makes of a workflow with a stored credential, which only the bridge can use. */
function verdictOf({ triggers }: ReturnType<typeof madeWith>): string {
  const credentialId = RUN;
  const pay = { id: "pay", block: "httpRequest", config: { method: "POST", url: "https://pay.example", credentialId } } as const;
  const definition = checkWorkflow({ name: "pay", trigger: { type: "manual" }, ...chainOf([pay]) });
  return triggers.preflight({ definition, input: {}, depth: 0 }).kind;
}

test("runs are executed by this worker, without any credential, unless the environment names another executor", async () => {
  const installation = await openRig();
  expect(verdictOf(madeWith(installation, {}))).toBe("rejected");
  expect(verdictOf(madeWith(installation, { WORKFLOW_EXECUTOR: "native" }))).toBe("rejected");
});

test("the http executor asks where the environment says that the bridge is, for what comes through the queue", async () => {
  const rig = await openBridged("http");
  const id = await publishRequest(rig);
  const { text, path } = await rig.peer.nextRequest();
  const asked = { type: "trigger", tenantId: rig.tenantId, executionId: RUN };
  expect([path, JSON.parse(text)]).toEqual(["/internal/workflow/executions", asked]);
  await untilReceipt(rig, id, "done");
  expect(rig.peer.requests).toHaveLength(1);
});

test("the hybrid executor looks for the run before it asks: one that is not there is nobody's", async () => {
  const rig = await openBridged("hybrid");
  await untilReceipt(rig, await publishRequest(rig), "dead");
  expect(rig.peer.requests).toEqual([]);
});

/** The app's consumer with a bridge to a peer, which says that the run waits. */
async function openBridged(kind: "http" | "hybrid"): Promise<Installation & { readonly peer: HttpPeer }> {
  const [installation, peer] = await Promise.all([openRig(), startHttpPeer()]);
  peer.respond(() => ({ body: `{"kind":"waiting"}` }));
  const made = madeWith(installation, { WORKFLOW_EXECUTOR: kind, WORKFLOW_BRIDGE_URL: peer.url, WORKFLOW_BRIDGE_SECRET: "s".repeat(32) });
  expect(verdictOf(made)).toBe("run");
  const running = runConsumers(installation, [made.consumers["workflow-trigger"]]);
  onTestFinished(() => running.close(2000));
  return { ...installation, peer };
}

/** Publishes a request and hands it off, as the drainer does. */
async function publishRequest({ database, backend, metrics, log, tenantId }: Installation): Promise<string> {
  const { pool, prisma } = database;
  const settings = { intervalMs: 1000, batchSize: 100, concurrency: 10, maxRetries: 6, leaseMs: 60_000, crashBudget: 6 };
  const alerts = createAlerts({ app: "test", log });
  const dispatcher = createBatchDispatcher({ pool, router: createRouter(), backend, settings, metrics, alerts, log });
  const payload = { executionId: RUN };
  const { id } = await prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type: "workflow.execution.requested", payload }));
  await dispatcher.tick();
  return id;
}

/** Waits until the consumer has finished an event, or given up on it. */
async function untilReceipt({ database }: Installation, eventId: string, outcome: string): Promise<void> {
  const find = () =>
    database.pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = $1 AND "consumer" = 'workflow-trigger' AND "outcome" = $2`, [
      eventId,
      outcome,
    ]);
  await waitFor(async () => (await find()).rowCount === 1, { what: `a receipt ${outcome}`, timeoutMs: 20_000 });
}
