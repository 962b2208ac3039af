import { transaction } from "@toolctrl/db/client";
import { withEventCause } from "@toolctrl/db/outbox";
import { MAX_WORKFLOW_DEPTH, type WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { expect, test } from "vitest";
import { retryFrom } from "../src/executions/retry-from.ts";
import { ask, manual, note, notesOf, openBench, TENANT } from "./support.ts";

test("each block has its effect, recorded with its step, and the run's end reaches the plugins", async () => {
  const bench = await openBench(() => ({ headers: { "content-type": "application/json" }, body: '{"ok":1}' }));
  const workflowId = await bench.add({
    ...manual([
      {
        id: "create",
        block: "rowCreate",
        config: { table: "order", data: { name: "{{ trigger.name }}", amount: "{{ trigger.amount }}" } },
      },
      { id: "update", block: "rowUpdate", config: { table: "order", id: "{{ steps.create.id }}", data: { state: "checked" } } },
      {
        id: "call",
        block: "httpRequest",
        config: { method: "POST", url: `${bench.http.url}/hook`, body: { json: { amount: "{{ trigger.amount }}" } } },
      },
      {
        id: "mail",
        block: "email",
        config: { to: "ann@example.test", subject: "Order {{ trigger.name }}", html: "<p>{{ trigger.name }}</p>" },
      },
      { id: "remove", block: "rowDelete", config: { table: "order", id: "{{ steps.create.id }}" } },
    ]),
    trigger: {
      type: "manual",
      input: [
        { name: "name", label: "Name", type: "text" },
        { name: "amount", label: "Amount", type: "number" },
      ],
    },
  });
  const key = await bench.start(workflowId, { name: "<b>O'Brien</b>", amount: 20 });
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });

  const { status, steps } = await bench.view(key);
  expect(status).toBe("success");
  expect(steps.map(({ nodeId, status: at, attempts }) => [nodeId, at, attempts])).toEqual([
    ["create", "done", 1],
    ["update", "done", 1],
    ["call", "done", 1],
    ["mail", "done", 1],
    ["remove", "done", 1],
  ]);
  expect(steps[0]?.output).toMatchObject({ data: { name: "<b>O'Brien</b>", amount: 20 } });
  expect(bench.http.requests.map(({ text }) => JSON.parse(text) as unknown)).toEqual([{ amount: 20 }]);
  expect(await bench.events("mail.message.send")).toMatchObject([
    {
      depth: 1,
      payload: { to: ["ann@example.test"], data: { subject: "Order <b>O'Brien</b>", html: "<p>&lt;b&gt;O&#39;Brien&lt;/b&gt;</p>" } },
    },
  ]);
  expect(await bench.events("plugin.hook.workflow.executed")).toMatchObject([
    { payload: { executionId: key.executionId, status: "success" } },
  ]);
  expect(await bench.events("workflow.trigger.event")).toHaveLength(3);
  expect(await bench.events("webhook.row.created")).toEqual([]);
});

test("five processes at one run at once run each step once", async () => {
  const bench = await openBench();
  const key = await bench.start(await bench.add(manual([note("a"), note("b"), note("c"), note("d")])));
  await Promise.all(Array.from({ length: 5 }, () => bench.run(key)));
  expect(await notesOf(bench)).toEqual({ a: 1, b: 1, c: 1, d: 1 });
  expect(await bench.events("plugin.hook.workflow.executed")).toHaveLength(1);
});

test("a run keeps the version it started with", async () => {
  const bench = await openBench();
  const workflowId = await bench.add(manual([note("old")]));
  const key = await bench.start(workflowId);
  const { updateWorkflow } = await import("../src/definitions.ts");
  await updateWorkflow(bench.database.pool, { tenantId: TENANT, workflowId }, manual([note("new")]));
  await bench.run(key);
  await bench.run(await bench.start(workflowId));
  expect(await notesOf(bench)).toEqual({ old: 1, new: 1 });
});

test("a block that fails takes its writes with it, ends the run, and the failed hook tells of it", async () => {
  const bench = await openBench();
  const missing = "0190a0a0-0000-7000-8000-000000000001";
  const key = await bench.start(
    await bench.add(
      manual([note("before"), { id: "update", block: "rowUpdate", config: { table: "order", id: missing, data: {} } }, note("after")]),
    ),
  );
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
  expect(await bench.view(key)).toMatchObject({ status: "error", reasonCode: "ROW.NOT_FOUND" });
  expect(await notesOf(bench)).toEqual({ before: 1 });
  expect(await bench.events("plugin.hook.workflow.failed")).toMatchObject([{ payload: { status: "error", reasonCode: "ROW.NOT_FOUND" } }]);
});

test("a run whose error or output holds what PostgreSQL cannot store ends all the same", async () => {
  const answer = String.raw`{"k\u0000":"\ud83d"}`;
  const bench = await openBench(() => ({ headers: { "content-type": "application/json" }, body: answer }));
  const endOf = async (definition: WorkflowDefinitionInput) => {
    const input = [{ name: "name", label: "Name", type: "text" as const }];
    const key = await bench.start(await bench.add({ ...definition, trigger: { type: "manual", input } }), { name: "😀".repeat(300) });
    return { end: await bench.run(key), view: await bench.view(key) };
  };
  const quoting = { id: "if", block: "if" as const, config: { condition: "bool(trigger.name)" } };
  const branches = ["then", "else"].map((branch) => ({ from: "if", branch, to: null }));
  expect(await endOf(manual([quoting], branches))).toMatchObject({
    end: { status: "error" },
    view: { reasonCode: "WORKFLOW.EXPRESSION", reason: expect.stringContaining("😀") },
  });
  const call = { id: "call", block: "httpRequest" as const, config: { method: "GET" as const, url: `${bench.http.url}/` } };
  expect(await endOf(manual([call]))).toMatchObject({
    end: { status: "success" },
    view: { steps: [{ output: { body: { "k\uFFFD": "\uFFFD" } } }] },
  });
});

test("a call that fails twice is made again with the same key, and what came before it is not", async () => {
  const bench = await openBench((_request, index) => ({ status: index < 2 ? 500 : 200 }));
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
  const mail = { id: "mail", block: "email" as const, config: { to: "ann@example.test", subject: "Hello", text: "Hello" } };
  const key = await bench.start(await bench.add(manual([note("row"), mail, call])));
  for (let turn = 0; turn < 3; turn += 1) {
    await Promise.all([bench.run(key), bench.run(key)]);
    await bench.makeDue();
  }
  expect(await bench.view(key)).toMatchObject({ status: "success" });
  expect(await notesOf(bench)).toEqual({ row: 1 });
  expect(await bench.events("mail.message.send")).toHaveLength(1);
  expect(bench.http.requests.map(({ headers }) => headers["idempotency-key"])).toEqual(Array(3).fill(`${key.executionId}-call-0-0`));
  expect(await bench.events("plugin.hook.workflow.failed")).toEqual([]);
  const retries = (await bench.events("workflow.execution.continue.requested")).filter(({ payload }) => payload["reason"] === "retry");
  expect(retries).toHaveLength(2);
});

test.each([
  ["201", 201, undefined, "success"],
  ["202 where only 200 is wanted", 202, [200], "error"],
  ["409 where it is wanted", 409, [200, 409], "success"],
  ["404", 404, undefined, "error"],
])("an answer whose body is cut off is judged by its status: %s", async (_what, status, successStatuses, end) => {
  const bench = await openBench((_request, _index, response) => {
    response.writeHead(status, { "content-type": "application/json", "content-length": "100" }).write('{"id":', () => response.destroy());
    return "handled";
  });
  const config = { method: "POST" as const, url: `${bench.http.url}/`, ...(successStatuses === undefined ? {} : { successStatuses }) };
  const key = await bench.start(await bench.add(manual([{ id: "call", block: "httpRequest" as const, config }])));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: end });
  const output = { status, headers: { "content-type": "application/json" }, body: null };
  expect((await bench.view(key)).steps).toMatchObject([{ attempts: 1, output: end === "success" ? output : null }]);
});

test("a call whose process is gone counts as unknown, and is made again once its time is over", async () => {
  const bench = await openBench(() => ({ status: 204 }));
  const call = {
    id: "call",
    block: "httpRequest" as const,
    config: { method: "POST" as const, url: `${bench.http.url}/`, timeoutSeconds: 1 },
  };
  const key = await bench.start(await bench.add(manual([call, note("after")])));
  // A process that ended right before its call.
  const { takeTurn } = await import("../src/runner/take-turn.ts");
  await takeTurn(bench.deps, key);
  expect(await takeTurn(bench.deps, key)).toMatchObject({ kind: "call" });
  expect(await bench.run(key)).toMatchObject({ kind: "busy" });
  await bench.database.pool.query(`UPDATE "WorkflowStep" SET "callingSince" = "callingSince" - interval '1 hour'`);
  expect(await bench.run(key)).toEqual({ kind: "waiting" });
  await bench.makeDue();
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect((await bench.view(key)).steps).toMatchObject([{ nodeId: "call", status: "done", attempts: 2, unknowns: 1 }, { nodeId: "after" }]);
});

test("a late answer of a call that was given up changes nothing", async () => {
  const bench = await openBench();
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
  const key = await bench.start(await bench.add(manual([call, note("after")])));
  const { takeTurn } = await import("../src/runner/take-turn.ts");
  const { makeHttpCall } = await import("../src/runner/make-http-call.ts");
  await takeTurn(bench.deps, key);
  const turn = await takeTurn(bench.deps, key);
  if (turn.kind !== "call") throw new Error(`expected a call, got ${turn.kind}`);
  await bench.database.pool.query(`UPDATE "WorkflowStep" SET "callingSince" = "callingSince" - interval '1 hour'`);
  await bench.run(key);
  await makeHttpCall(bench.deps, key, turn.call, new AbortController().signal);
  expect((await bench.view(key)).steps).toMatchObject([{ nodeId: "call", status: "retry", attempts: 1 }]);
  expect(await notesOf(bench)).toEqual({});
});

test("a step that needs a stored credential ends the run where there is none to be had", async () => {
  const bench = await openBench();
  const credentialId = "0190a0a0-0000-4000-8000-000000000001";
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/`, credentialId } };
  const workflowId = await bench.add(manual([call]));
  const key = await bench.start(workflowId);
  expect(await bench.view(key)).toMatchObject({ status: "rejected", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" });
  // One that was there already when the executor changed.
  await bench.database.pool.query(`UPDATE "WorkflowExecution" SET "status" = 'queued', "finishedAt" = NULL`);
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
  expect(await bench.view(key)).toMatchObject({ status: "error", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" });
  expect(bench.http.requests).toEqual([]);
});

test("a run told to repeat from a step repeats it and what follows, in a new epoch with keys of its own, and nothing before it", async () => {
  let fail = true;
  const bench = await openBench(() => ({ status: fail ? 400 : 200 }));
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
  const key = await bench.start(await bench.add(manual([note("before"), call, note("after")])));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
  fail = false;
  expect(await bench.service.retryFrom({ ...key, nodeId: "call" })).toEqual({ retryEpoch: 1, repeated: 1 });
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect(await notesOf(bench)).toEqual({ before: 1, after: 1 });
  expect(bench.http.requests.map(({ headers }) => headers["idempotency-key"])).toEqual([
    `${key.executionId}-call-0-0`,
    `${key.executionId}-call-0-1`,
  ]);
  await bench.service.retryFrom({ ...key, nodeId: "before" });
  await bench.run(key);
  expect(await notesOf(bench)).toEqual({ before: 2, after: 2 });
  await expect(bench.service.retryFrom({ ...key, nodeId: "nowhere" })).rejects.toMatchObject({ code: "WORKFLOW.ARGUMENT" });
});

test("a repeat makes the run as deep as what its transaction says led to it, and is refused where loops are stopped", async () => {
  const bench = await openBench();
  const key = await bench.start(await bench.add(manual([note("again")])));
  await bench.run(key);
  const repeat = (depth: number) =>
    transaction(bench.database.pool, (tx) => retryFrom(withEventCause(tx, { depth }), { ...key, nodeId: "again" }));
  await repeat(MAX_WORKFLOW_DEPTH - 1);
  await bench.run(key);
  expect(await bench.view(key)).toMatchObject({ status: "success", retryEpoch: 1, depth: MAX_WORKFLOW_DEPTH - 1 });
  await repeat(1);
  await bench.run(key);
  expect(await bench.view(key)).toMatchObject({ status: "success", retryEpoch: 2, depth: MAX_WORKFLOW_DEPTH - 1 });
  await expect(repeat(MAX_WORKFLOW_DEPTH)).rejects.toMatchObject({ code: "WORKFLOW.LOOP_STOPPED" });
  expect(await bench.view(key)).toMatchObject({ status: "success", retryEpoch: 2 });
});

test("what was open beside the step that failed goes on with the repeat: its question is open again, and the join runs once", async () => {
  let fail = true;
  const bench = await openBench(() => ({ status: fail ? 400 : 200 }));
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
  const edges = [
    { from: "start", to: "ask" },
    { from: "start", to: "call" },
    { from: "ask", to: "join" },
    { from: "call", to: "join" },
    { from: "join", to: null },
  ];
  const key = await bench.start(await bench.add(manual([note("start"), ask("ask"), call, note("join")], edges)));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
  const inputId = (await bench.view(key)).inputs[0]?.id ?? "";
  const submission = { tenantId: TENANT, inputId, value: { answer: "yes" }, answeredBy: "ann" };
  await expect(bench.service.continue(submission)).rejects.toMatchObject({ code: "WORKFLOW.INPUT_ANSWERED" });
  fail = false;
  await bench.service.retryFrom({ ...key, nodeId: "call" });
  expect(await bench.run(key)).toEqual({ kind: "waiting" });
  await bench.service.continue(submission);
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect(await notesOf(bench)).toEqual({ join: 1, start: 1 });
});

test("a cancelled run runs no further step, and its questions close", async () => {
  const bench = await openBench();
  const key = await bench.start(await bench.add(manual([ask("ask"), note("after")])));
  await bench.run(key);
  await bench.service.cancel(key);
  const { inputs } = await bench.view(key);
  const submission = { tenantId: TENANT, inputId: inputs[0]?.id ?? "", value: { answer: "late" }, answeredBy: "ann" };
  await expect(bench.service.continue(submission)).rejects.toMatchObject({ code: "WORKFLOW.INPUT_ANSWERED" });
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "cancelled" });
  expect(await notesOf(bench)).toEqual({});
  await expect(bench.service.cancel(key)).rejects.toMatchObject({ code: "WORKFLOW.STATE" });
});
