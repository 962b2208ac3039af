import { MAX_WORKFLOW_DEPTH } from "@toolctrl/foundation/workflows";
import { expect, test } from "vitest";
import { createWorkflow, listWorkflows, loadDefinition, readWorkflow, switchWorkflow, updateWorkflow } from "../src/definitions.ts";
import { manual, note, openBench, TENANT } from "./support.ts";

test("a definition whose conditions or templates cannot be read is refused with the path of each, and nothing is written", async () => {
  const bench = await openBench();
  const definition = manual(
    [
      { id: "if", block: "if", config: { condition: "trigger. ==" } },
      { id: "mail", block: "email", config: { to: "ann@example.test", subject: "{{ unclosed", text: "{% nothing %}" } },
      { id: "row", block: "rowCreate", config: { table: "task", data: { deep: { text: "{{ a | no_such_filter }}" } } } },
    ],
    [
      { from: "if", branch: "then", to: "mail" },
      { from: "if", branch: "else", to: null },
      { from: "mail", to: "row" },
      { from: "row", to: null },
    ],
  );
  const refused = await createWorkflow(bench.database.pool, { tenantId: TENANT, definition }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "WORKFLOW.DEFINITION" });
  const { problems } = (refused as { facts: { problems: Array<{ path: string }> } }).facts;
  expect(problems.map(({ path }) => path)).toEqual([
    "nodes.0.config.condition",
    "nodes.1.config.subject",
    "nodes.1.config.text",
    "nodes.2.config.data.deep.text",
  ]);
  expect(await listWorkflows(bench.database.pool, { tenantId: TENANT })).toEqual([]);
});

test("a definition with a name that nothing can read, or a case that an earlier one takes, is refused with the path of each", async () => {
  const bench = await openBench();
  const field = (name: string) => ({ name, label: name, type: "text" as const });
  const equals = [20, "20", true, "true", null, "null", "a", "20.0", "a"];
  const definition = {
    ...manual(
      [
        {
          id: "route",
          block: "switch",
          config: { value: "trigger.a", cases: equals.map((each, at) => ({ name: `c${at}`, equals: each })) },
        },
        { id: "ask", block: "waitForInput", config: { title: "Which?", fields: [field("constructor"), field("fine")] } },
        note("prototype"),
        note("constructor"),
      ],
      [
        ...equals.map((_, at) => ({ from: "route", branch: `c${at}`, to: "ask" })),
        { from: "ask", to: "prototype" },
        { from: "prototype", to: "constructor" },
        { from: "constructor", to: null },
      ],
    ),
    trigger: { type: "manual" as const, input: [field("a"), field("prototype")] },
  };
  const refused = await createWorkflow(bench.database.pool, { tenantId: TENANT, definition }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "WORKFLOW.DEFINITION" });
  const { problems } = (refused as { facts: { problems: Array<{ path: string }> } }).facts;
  expect(problems.map(({ path }) => path)).toEqual([
    "trigger.input.1.name",
    "nodes.0.config.cases.1.equals",
    "nodes.0.config.cases.3.equals",
    "nodes.0.config.cases.8.equals",
    "nodes.1.config.fields.0.name",
    "nodes.2.id",
    "nodes.3.id",
  ]);
});

test("a version that was saved with a name or a case that is refused by now is still run", async () => {
  const bench = await openBench();
  const workflowId = await bench.add(manual([note("one")]));
  await bench.database.pool.query(
    `UPDATE "WorkflowVersion" SET "definition" = replace("definition"::text, '"one"', '"prototype"')::jsonb WHERE "workflowId" = $1`,
    [workflowId],
  );
  const key = await bench.start(workflowId);
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect((await bench.view(key)).steps.map(({ nodeId }) => nodeId)).toEqual(["prototype"]);
});

test("each change is a version of its own, and the old ones stay as they were", async () => {
  const bench = await openBench();
  const { pool } = bench.database;
  const { id: workflowId } = await createWorkflow(pool, { tenantId: TENANT, definition: manual([note("one")]) });
  const key = { tenantId: TENANT, workflowId };
  expect(await updateWorkflow(pool, key, { ...manual([note("two")]), name: "renamed" })).toMatchObject({ version: 2, name: "renamed" });
  expect(await readWorkflow(pool, key)).toMatchObject({ version: 2, name: "renamed", live: false });
  expect((await loadDefinition(pool, { workflowId, version: 1 })).definition.start).toBe("one");
  expect((await loadDefinition(pool, { workflowId, version: 2 })).definition.start).toBe("two");
  await expect(loadDefinition(pool, { workflowId, version: 3 })).rejects.toMatchObject({ code: "WORKFLOW.NOT_FOUND" });
  await expect(updateWorkflow(pool, { ...key, tenantId: "other" }, manual([note("x")]))).rejects.toMatchObject({
    code: "WORKFLOW.NOT_FOUND",
  });
});

test("a run is started once per key of the caller, and not at all while the workflow is off or its input does not fit", async () => {
  const bench = await openBench();
  const definition = {
    ...manual([note("one")]),
    trigger: { type: "manual" as const, input: [{ name: "seats", label: "Seats", type: "number" as const }] },
  };
  const workflowId = await bench.add(definition);
  const request = { tenantId: TENANT, workflowId, startedBy: "api" as const, requestKey: "k", input: { seats: 3 } };
  const runs = await Promise.all([bench.service.run(request), bench.service.run(request), bench.service.run(request)]);
  expect(new Set(runs.map(({ execution }) => execution.id)).size).toBe(1);
  expect(runs.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
  expect(await bench.events("workflow.execution.requested")).toHaveLength(1);
  expect(await bench.count(`FROM "WorkflowStep"`)).toBe(0);
  await expect(bench.service.run({ ...request, requestKey: undefined, input: { seats: "three" } })).rejects.toMatchObject({
    code: "WORKFLOW.INPUT_INVALID",
    message: expect.stringContaining("seats"),
  });
  await expect(bench.service.run({ ...request, requestKey: "other", input: {} })).rejects.toMatchObject({ code: "WORKFLOW.INPUT_INVALID" });
  const { id: off } = await createWorkflow(bench.database.pool, { tenantId: TENANT, definition });
  await expect(bench.service.run({ ...request, workflowId: off })).rejects.toMatchObject({ code: "WORKFLOW.NOT_LIVE" });
});

test("a start that is sent again has the run that it made, though the workflow asks for something else by now, or is off", async () => {
  const bench = await openBench();
  const workflowId = await bench.add(manual([note("one")]));
  const key = { tenantId: TENANT, workflowId };
  const request = { ...key, startedBy: "api" as const, requestKey: "k", depth: 1 };
  const first = await bench.service.run(request);
  const trigger = { type: "manual" as const, input: [{ name: "seats", label: "Seats", type: "number" as const }] };
  await updateWorkflow(bench.database.pool, key, { ...manual([note("one")]), trigger });
  expect(await bench.service.run(request)).toEqual({ ...first, duplicate: true });
  await switchWorkflow(bench.database.pool, key, false);
  expect(await bench.service.run({ ...request, input: { seats: 3 }, depth: MAX_WORKFLOW_DEPTH })).toEqual({ ...first, duplicate: true });
  expect(await bench.events("workflow.execution.requested")).toHaveLength(1);
  await expect(bench.service.run({ ...request, tenantId: "other" })).rejects.toMatchObject({ code: "WORKFLOW.NOT_FOUND" });
});
