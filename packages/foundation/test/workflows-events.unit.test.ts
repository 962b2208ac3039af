import { expect, test } from "vitest";
import { checkEventPayload, findOutboxEvent } from "../src/events.ts";

const ID = "0b6a7c1e-5f1d-4c57-9d9b-0f3b7f4f2f10";
const TRIGGER = { source: "row", eventType: "record.task.created", object: "task", recordId: "7", data: { after: { done: false } } };

test("no tenant sees the events of workflows, and what started one counts as personal", () => {
  for (const type of ["workflow.trigger.event", "workflow.execution.requested", "workflow.execution.continue.requested"]) {
    expect(findOutboxEvent(type)).toMatchObject({
      version: 1,
      tenantVisible: false,
      pii: type === "workflow.trigger.event" ? ["data"] : [],
    });
  }
});

test.each<[string, unknown]>([
  ["workflow.trigger.event", TRIGGER],
  ["workflow.trigger.event", { source: "event", eventType: "billing.invoice.paid", data: {} }],
  ["workflow.execution.requested", { executionId: ID }],
  ["workflow.execution.continue.requested", { executionId: ID, reason: "retry-from" }],
  ["workflow.execution.continue.requested", { executionId: ID, reason: "input", stepId: ID }],
])("%s takes %j as it is", (type, payload) => {
  expect(checkEventPayload(type, payload)).toEqual({ version: 1, payload });
});

test.each<[string, object, string]>([
  ["workflow.trigger.event", { ...TRIGGER, source: "manual" }, "source"],
  ["workflow.trigger.event", { ...TRIGGER, eventType: "record." }, "eventType"],
  ["workflow.trigger.event", { ...TRIGGER, recordId: "" }, "recordId"],
  ["workflow.trigger.event", { ...TRIGGER, data: [] }, "data"],
  ["workflow.trigger.event", { ...TRIGGER, tenantId: "t" }, "tenantId"],
  ["workflow.execution.requested", { executionId: "7" }, "executionId"],
  ["workflow.execution.requested", { executionId: ID, input: {} }, "input"],
  ["workflow.execution.continue.requested", { executionId: ID, reason: "because" }, "reason"],
  ["workflow.execution.continue.requested", { executionId: ID, reason: "retry", stepId: "7" }, "stepId"],
])("%s refuses %j at %s", (type, payload, path) => {
  expect(() => checkEventPayload(type, payload)).toThrow(expect.objectContaining({ facts: { type, paths: [path] } }));
});
