import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createRouter } from "@toolctrl/event-router/router";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { traceEvent } from "@toolctrl/outbox-drainer/stats";
import { waitFor } from "@toolctrl/testkit/wait";
import { createExecutionsService, readExecution } from "@toolctrl/workflow/executions";
import { expect, test } from "vitest";
import { openPlugins, type PluginRig } from "./plugin-support.ts";
import { addWorkflow, chainOf } from "./workflows.ts";

type Node = WorkflowDefinitionInput["nodes"][number];

const ALL_CONSUMERS = { only: "" };
const NOTE: Node = { id: "note", block: "rowCreate", config: { table: "note", data: {} } };
const GONE: Node = { id: "gone", block: "rowDelete", config: { table: "note", id: "01900000-0000-7000-8000-000000000000" } };

test("a plugin that subscribes to workflows is told once of each run's end: that it succeeded, or why it did not", async () => {
  const rig = await openPlugins();
  const told: { type: string; payload: JsonObject }[] = [];
  await rig.subscribe("tell", ["plugin.hook.workflow."]);
  await rig.subscribe("other", ["plugin.hook.lead."]);
  const tell = async ({ type, payload }: { type: string; payload: JsonObject }): Promise<void> => void told.push({ type, payload });
  rig.start({ tell, other: () => Promise.reject(new Error("not for it")) }, ALL_CONSUMERS);
  const [good, bad] = [await startRun(rig, NOTE), await startRun(rig, GONE)];
  await waitFor(() => rig.handOff().then(() => told.length >= 2), { what: "the plugin to be told of both runs", timeoutMs: 20_000 });
  await rig.untilIdle();
  expect(told).toHaveLength(2);
  const ofRun = (executionId: string) => told.find(({ payload }) => payload["executionId"] === executionId);
  expect(ofRun(good)).toMatchObject({ type: "plugin.hook.workflow.executed", payload: { status: "success", reasonCode: null } });
  expect(ofRun(bad)).toMatchObject({ type: "plugin.hook.workflow.failed", payload: { status: "error", reasonCode: "ROW.NOT_FOUND" } });
});

test("the trace of an event names the runs that it started, and that of a request the run it asked for, with its end", async () => {
  const rig = await openPlugins();
  const { database, backend, tenantId } = rig;
  const workflowId = await addWorkflow(rig, { name: "paid", trigger: { type: "event", eventType: "invoice." }, ...chainOf([NOTE]) });
  rig.start({}, ALL_CONSUMERS);
  const payload = { source: "event", eventType: "invoice.paid", data: { amount: 3 } } as const;
  const { id } = await database.prisma.$transaction((tx) => publishOutboxEvent(tx, { tenantId, type: "workflow.trigger.event", payload }));
  const finished = `SELECT x."id"::text AS "id", e."id"::text AS "eventId" FROM "WorkflowExecution" x
    JOIN "OutboxEvent" e ON e."payload" ->> 'executionId' = x."id"::text AND e."eventType" = 'workflow.execution.requested'
    JOIN "OutboxReceipt" r ON r."eventId" = e."id" WHERE x."workflowId" = $1 AND x."status" = 'success'`;
  const [run] = await waitFor(
    async () => {
      await rig.handOff();
      const { rows } = await database.pool.query<{ id: string; eventId: string }>(finished, [workflowId]);
      return rows.length > 0 && rows;
    },
    { what: "the run to end", timeoutMs: 20_000 },
  );
  const trace = async (eventId: string) => (await traceEvent({ db: database.pool, router: createRouter(), backend }, eventId)).effects;
  const executionId = run?.id ?? "";
  expect(await trace(id)).toMatchObject([{ table: "WorkflowExecution", key: `${executionId} (success)` }]);
  expect(await trace(run?.eventId ?? "")).toMatchObject([{ table: "WorkflowExecution", key: `${executionId} (success)` }]);
  expect(await readExecution(database.pool, { tenantId, executionId })).toMatchObject({ startedBy: "event", input: payload });
});

/** A run of a workflow with one step, which a person starts. */
async function startRun(rig: PluginRig, node: Node): Promise<string> {
  const { database, tenantId } = rig;
  const workflowId = await addWorkflow(rig, { name: node.id, trigger: { type: "manual" }, ...chainOf([node]) });
  const service = createExecutionsService({ pool: database.pool, executor: "native", runner: null });
  return (await service.run({ tenantId, workflowId, startedBy: "person" })).execution.id;
}
