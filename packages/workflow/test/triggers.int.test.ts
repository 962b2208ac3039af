import { transaction } from "@toolctrl/db/client";
import { MAX_WORKFLOW_DEPTH, type WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { uuidv7 } from "uuidv7";
import { expect, test } from "vitest";
import { switchWorkflow } from "../src/definitions.ts";
import { listExecutions } from "../src/executions.ts";
import { createTriggerStore, fanOutTrigger, type TriggerEvent } from "../src/triggers.ts";
import { manual, note, openBench, TENANT, type Bench } from "./support.ts";

const FORM = "0190a0a0-0000-4000-8000-000000000001";

/** A workflow of one step with this trigger. */
function triggered(trigger: WorkflowDefinitionInput["trigger"]): WorkflowDefinitionInput {
  return { ...manual([note("only")]), trigger };
}

function event(over: Partial<TriggerEvent> = {}): TriggerEvent {
  const row = {
    source: "row" as const,
    eventType: "row.created",
    object: "task",
    recordId: uuidv7(),
    data: { after: { data: { state: "new" } } },
  };
  return { ...row, eventId: uuidv7(), tenantId: TENANT, depth: 1, correlationId: null, ...over };
}

const fanOut = (bench: Bench, trigger: TriggerEvent, kind: "native" | "hybrid" = "native") =>
  transaction(bench.database.pool, (tx) => fanOutTrigger(tx, trigger, createTriggerStore(kind)));

test("an event starts every live workflow whose trigger it fits, and no other", async () => {
  const bench = await openBench();
  const fits = [
    await bench.add(triggered({ type: "row", table: "task", on: ["created", "updated"] })),
    await bench.add(triggered({ type: "row", table: "task", on: ["created"], condition: `trigger.data.after.data.state == "new"` })),
  ];
  const off = await bench.add(triggered({ type: "row", table: "task", on: ["created"] }));
  await switchWorkflow(bench.database.pool, { tenantId: TENANT, workflowId: off }, false);
  await bench.add(triggered({ type: "row", table: "task", on: ["deleted"] }));
  await bench.add(triggered({ type: "row", table: "other", on: ["created"] }));
  await bench.add(triggered({ type: "row", table: "task", on: ["created"], condition: `trigger.data.after.data.state == "old"` }));
  await bench.add(manual([note("only")]));
  expect(await fanOut(bench, event())).toEqual({ started: 2, rejected: 0, skipped: 0 });
  const runs = await listExecutions(bench.database.pool, { tenantId: TENANT });
  expect(runs.map(({ workflowId }) => workflowId).sort()).toEqual(fits.sort());
  expect(runs).toMatchObject([{ status: "queued", startedBy: "row", depth: 1 }, { status: "queued" }]);
  expect(await bench.events("workflow.execution.requested")).toHaveLength(2);
  expect(await fanOut(bench, event({ tenantId: "other" }))).toEqual({ started: 0, rejected: 0, skipped: 0 });
});

test("a form's submission and an application event start theirs, the latter by its type or the beginning of it", async () => {
  const bench = await openBench();
  await bench.add(triggered({ type: "form", formId: FORM }));
  await bench.add(triggered({ type: "event", eventType: "invoice.paid" }));
  await bench.add(triggered({ type: "event", eventType: "invoice." }));
  await bench.add(triggered({ type: "event", eventType: "invoice.paid.late" }));
  expect(await fanOut(bench, event({ source: "form", eventType: "form.submitted", object: FORM }))).toMatchObject({ started: 1 });
  expect(await fanOut(bench, event({ source: "event", eventType: "invoice.paid", object: "invoice" }))).toMatchObject({ started: 2 });
  expect(await fanOut(bench, event({ source: "event", eventType: "invoice.paid.late", object: "invoice" }))).toMatchObject({ started: 2 });
  expect(await fanOut(bench, event({ source: "event", eventType: "invoices.paid", object: "invoice" }))).toMatchObject({ started: 0 });
});

test("the same event again, twice at once too, starts nothing again", async () => {
  const bench = await openBench();
  await bench.add(triggered({ type: "row", table: "task", on: ["created"] }));
  const trigger = event();
  await Promise.all([fanOut(bench, trigger), fanOut(bench, trigger)]);
  await fanOut(bench, trigger);
  expect(await listExecutions(bench.database.pool, { tenantId: TENANT })).toHaveLength(1);
  expect(await bench.events("workflow.execution.requested")).toHaveLength(1);
});

test("what may not run, or cannot be judged, is recorded with the reason, and the others start", async () => {
  const bench = await openBench();
  const on = { type: "row" as const, table: "task", on: ["created" as const] };
  const credentialId = "0190a0a0-0000-4000-8000-000000000002";
  const call = { id: "call", block: "httpRequest" as const, config: { method: "GET" as const, url: bench.http.url, credentialId } };
  await bench.add({ ...manual([call]), trigger: on });
  await bench.add(triggered({ ...on, condition: "trigger.data.after.data.state + 1 == 2" }));
  await bench.add(triggered(on));
  expect(await fanOut(bench, event())).toEqual({ started: 1, rejected: 1, skipped: 1 });
  const runs = await listExecutions(bench.database.pool, { tenantId: TENANT });
  expect(runs.map(({ status, reasonCode }) => `${status} ${reasonCode ?? ""}`.trim()).sort()).toEqual([
    "queued",
    "rejected WORKFLOW.UNSUPPORTED_BLOCK",
    "skipped WORKFLOW.EXPRESSION",
  ]);
  expect(await bench.events("workflow.execution.requested")).toHaveLength(1);
  // Another executor can run what this one could not.
  expect(await fanOut(bench, event(), "hybrid")).toEqual({ started: 2, rejected: 0, skipped: 1 });
});

test("an event as far away as a loop's is recorded as one that was stopped", async () => {
  const bench = await openBench();
  await bench.add(triggered({ type: "row", table: "task", on: ["created"] }));
  expect(await fanOut(bench, event({ depth: MAX_WORKFLOW_DEPTH - 1 }))).toMatchObject({ started: 1 });
  expect(await fanOut(bench, event({ depth: MAX_WORKFLOW_DEPTH }))).toMatchObject({ started: 0, rejected: 1 });
  expect((await listExecutions(bench.database.pool, { tenantId: TENANT, status: "rejected" }))[0]).toMatchObject({
    reasonCode: "WORKFLOW.LOOP_STOPPED",
    reason: expect.stringContaining("loop stopped"),
  });
});
