import { expect, test } from "vitest";
import { ask, call, manual, note } from "./definitions.ts";
import { openWeb } from "./support.ts";

test("a run that is started is published and not executed: a worker does that", async () => {
  const web = await openWeb();
  const workflowId = await web.addWorkflow(manual([note("a")]));
  const started = await web.call("POST", `/api/workflows/${workflowId}/runs`);
  expect(started).toMatchObject({
    status: 202,
    body: { duplicate: false, run: { workflowId, status: "queued", startedBy: "api", input: {} } },
  });
  const { id } = (started.body as unknown as { run: { id: string } }).run;
  expect(await web.published()).toEqual(["workflow.execution.requested"]);
  expect((await web.call("GET", `/api/runs/${id}`)).body).toMatchObject({ run: { status: "queued", steps: [], startedAt: null } });
  await web.work(id);
  expect((await web.call("GET", `/api/runs/${id}`)).body).toMatchObject({
    run: { status: "success", steps: [{ nodeId: "a", status: "done" }] },
  });
});

test("a second request with the same Idempotency-Key is the first one's run again", async () => {
  const web = await openWeb();
  const workflowId = await web.addWorkflow(manual([note("a")]));
  const start = (key: string) => web.call("POST", `/api/workflows/${workflowId}/runs`, {}, { headers: { "idempotency-key": key } });
  const [first, second] = await Promise.all([start("once"), start("once")]);
  const other = await start("twice");
  const idOf = ({ body }: typeof first) => (body as unknown as { run: { id: string } }).run.id;
  expect(idOf(second)).toBe(idOf(first));
  expect(new Set([first.body["duplicate"], second.body["duplicate"]])).toEqual(new Set([false, true]));
  expect(idOf(other)).not.toBe(idOf(first));
  expect(await web.published()).toEqual(["workflow.execution.requested", "workflow.execution.requested"]);
  expect(
    await web.call("POST", `/api/workflows/${workflowId}/runs`, {}, { headers: { "idempotency-key": "x".repeat(201) } }),
  ).toMatchObject({ status: 400 });
});

test("a workflow that is not live, and an input that does not fit, start nothing", async () => {
  const web = await openWeb();
  const field = { name: "email", label: "Mail", type: "text" as const };
  const workflowId = await web.addWorkflow(manual([note("a")], { type: "manual", input: [field] }));
  const path = `/api/workflows/${workflowId}`;
  expect(await web.call("POST", `${path}/runs`, { input: { email: 7 } })).toMatchObject({
    status: 422,
    body: { error: { code: "WORKFLOW.INPUT_INVALID", facts: { problems: [{ path: "email" }] } } },
  });
  await web.call("POST", `${path}/live`, { live: false });
  expect(await web.call("POST", `${path}/runs`, { input: { email: "a" } })).toMatchObject({
    status: 409,
    body: { error: { code: "WORKFLOW.NOT_LIVE" } },
  });
  expect((await web.call("GET", "/api/runs")).body).toEqual({ runs: [] });
  expect(await web.published()).toEqual([]);
});

test("a run that the installation's workers could not do is rejected when it is started, with the reason", async () => {
  const credentialId = "0190a0a0-0000-7000-8000-000000000001";
  const definition = manual([call("pay", "http://example.com", credentialId)]);
  const native = await openWeb({ WORKFLOW_EXECUTOR: "native" });
  const rejected = await native.call("POST", `/api/workflows/${await native.addWorkflow(definition)}/runs`);
  expect(rejected).toMatchObject({ status: 202, body: { run: { status: "rejected", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" } } });
  expect(await native.published()).not.toContain("workflow.execution.requested");
  const hybrid = await openWeb({ WORKFLOW_EXECUTOR: "hybrid", WORKFLOW_BRIDGE_SECRET: "s".repeat(32) });
  const queued = await hybrid.call("POST", `/api/workflows/${await hybrid.addWorkflow(definition)}/runs`);
  expect(queued).toMatchObject({ body: { run: { status: "queued" } } });
});

test("runs are listed newest first, by workflow, status and page", async () => {
  const web = await openWeb();
  const [one, two] = [await web.addWorkflow(manual([note("a")])), await web.addWorkflow(manual([ask("a")]))];
  const ids = [await web.startRun(one), await web.startRun(two), await web.startRun(one)];
  await web.work(ids[1] ?? "");
  const list = async (query: string): Promise<string[]> => {
    const { body } = await web.call("GET", `/api/runs${query}`);
    return (body as unknown as { runs: Array<{ id: string }> }).runs.map(({ id }) => id);
  };
  expect(await list("")).toEqual(ids.toReversed());
  expect(await list(`?workflowId=${one}`)).toEqual([ids[2], ids[0]]);
  expect(await list("?status=waiting")).toEqual([ids[1]]);
  expect(await list(`?before=${ids[1]}`)).toEqual([ids[0]]);
});

test("a run is cancelled once, and repeated from a step; neither executes anything here", async () => {
  const web = await openWeb();
  const id = await web.startRun(await web.addWorkflow(manual([note("a"), ask("b")])));
  expect(await web.call("POST", `/api/runs/${id}/retry`, { nodeId: "a" })).toMatchObject({
    status: 409,
    body: { error: { code: "WORKFLOW.STATE" } },
  });
  await web.work(id);
  expect(await web.call("POST", `/api/runs/${id}/cancel`)).toMatchObject({
    status: 200,
    body: { run: { status: "cancelled", inputs: [{ status: "cancelled" }] } },
  });
  expect(await web.call("POST", `/api/runs/${id}/cancel`)).toMatchObject({ status: 409, body: { error: { code: "WORKFLOW.STATE" } } });
  expect(await web.call("POST", `/api/runs/${id}/retry`, { nodeId: "nowhere" })).toMatchObject({
    status: 400,
    body: { error: { code: "WORKFLOW.ARGUMENT" } },
  });
  expect(await web.call("POST", `/api/runs/${id}/retry`, { nodeId: "a" })).toMatchObject({ status: 202, body: { retryEpoch: 1 } });
  const { body } = await web.call("GET", `/api/runs/${id}`);
  expect(body).toMatchObject({ run: { status: "running", retryEpoch: 1 } });
  expect((body as unknown as { run: { steps: object[] } }).run.steps.at(-1)).toMatchObject({ nodeId: "a", status: "ready" });
  expect((await web.published()).at(-1)).toBe("workflow.execution.continue.requested");
});
