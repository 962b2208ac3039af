import { DIGEST, leadIntake, orderStatus } from "@toolctrl/dev-stack/workflows";
import type { Execution, ExecutionView } from "@toolctrl/workflow/executions";
import { expect, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { give, openDatabase } from "./given.ts";

const GUIDE = "docs/guides/workflows.md";
const FORM = "0190a0a0-0000-4000-8000-000000000001";
const SHOP = "https://shop.example";

test("the workflows that the guide shows are those that the sample traffic runs", async () => {
  const shown = {
    ...(await runExample(exampleOf(GUIDE, "export function leadIntake"))),
    ...(await runExample(exampleOf(GUIDE, "export function orderStatus"))),
    ...(await runExample(exampleOf(GUIDE, "export const DIGEST"))),
  } as { leadIntake: typeof leadIntake; orderStatus: typeof orderStatus; DIGEST: typeof DIGEST };
  expect(shown.leadIntake(FORM)).toEqual(leadIntake(FORM));
  expect(shown.orderStatus(SHOP)).toEqual(orderStatus(SHOP));
  expect(shown.DIGEST).toEqual(DIGEST);
});

test("the guide's way to a live workflow and a run leads there", async () => {
  const { database } = await openDatabase();
  give({ database, tenantId: "acme" });
  const { addLive } = (await runExample(exampleOf(GUIDE, "createWorkflow"))) as { addLive(definition: unknown): Promise<string> };
  for (const definition of [leadIntake(FORM), orderStatus(SHOP), DIGEST]) await addLive(definition);
  const asked = { id: "ask", block: "waitForInput", config: { title: "?", fields: [{ name: "a", label: "A", type: "text" }] } };
  const definition = { name: "by hand", trigger: { type: "manual" }, start: "ask", nodes: [asked], edges: [{ from: "ask", to: null }] };
  vi.stubGlobal("workflowId", await addLive(definition));
  vi.stubGlobal("request", { body: {} });
  const { execution, view } = (await runExample(exampleOf(GUIDE, "createExecutionsService"))) as {
    execution: Execution;
    view: ExecutionView;
  };
  expect(view).toMatchObject({ id: execution.id, status: "queued", startedBy: "person", steps: [] });
  const { rows } = await database.pool.query(`SELECT "payload" FROM "OutboxEvent" WHERE "eventType" = 'workflow.execution.requested'`);
  expect(rows).toEqual([{ payload: { executionId: execution.id } }]);
});
