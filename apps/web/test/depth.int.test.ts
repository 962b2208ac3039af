import type { JsonValue } from "@toolctrl/foundation/json";
import { MAX_WORKFLOW_DEPTH } from "@toolctrl/foundation/workflows";
import { expect, test } from "vitest";
import { ask, call, manual, note } from "./definitions.ts";
import { CREDENTIALS_KEY, openWeb, type Answer, type CallOptions, type Web } from "./support.ts";

/** What a caller says whom a call of ours has led here. */
const at = (depth: number | string) => ({ headers: { "toolctrl-depth": String(depth) } });

async function depths({ database: { pool } }: Web): Promise<number[]> {
  const { rows } = await pool.query<{ depth: number }>(`SELECT DISTINCT "depth" FROM "OutboxEvent" ORDER BY 1`);
  return rows.map(({ depth }) => depth);
}

interface PublishingRequest {
  /** With the parameters of its route filled in. */
  readonly path: string;
  readonly body: JsonValue;
  /** How deep what it publishes is when it says that it is 3 deep itself: what a run does, and its end, is one deeper than the run. */
  readonly depths?: readonly number[];
}

const FORM = { name: "Ask", fields: [{ name: "email", kind: "email", required: true }] };

/** Each request that publishes something, by its route, on rows, forms, workflows, runs and questions that are there. */
async function openRequests(web: Web): Promise<Record<string, PublishingRequest>> {
  const form = idOf(await web.call("POST", "/api/forms", FORM), "form");
  const row = idOf(await web.call("POST", "/api/tables/deal/rows", { data: {} }), "row");
  const workflow = await web.addWorkflow(manual([note("ran")]));
  const [open, ended, asking] = [
    await web.startRun(workflow),
    await web.startRun(workflow),
    await web.startRun(await web.addWorkflow(manual([ask("ask")]))),
  ];
  await web.work(ended);
  await web.work(asking);
  const { body } = await web.call("GET", "/api/inputs");
  const [question] = (body as unknown as { inputs: Array<{ id: string }> }).inputs;
  return {
    "POST /api/tables/:table/rows": { path: "/api/tables/deal/rows", body: { data: {} } },
    "PATCH /api/tables/:table/rows/:id": { path: `/api/tables/deal/rows/${row}`, body: { data: { n: 1 } } },
    "DELETE /api/tables/:table/rows/:id": { path: `/api/tables/deal/rows/${row}`, body: {} },
    "POST /api/forms/:id/submissions": { path: `/api/forms/${form}/submissions`, body: { data: { email: "ann@example.com" } } },
    "POST /api/workflows/:id/runs": { path: `/api/workflows/${workflow}/runs`, body: {} },
    "POST /api/workflows/:id/stream": { path: `/api/workflows/${workflow}/stream`, body: {}, depths: [3, 4] },
    "POST /api/runs/:id/cancel": { path: `/api/runs/${open}/cancel`, body: {}, depths: [4] },
    "POST /api/runs/:id/retry": { path: `/api/runs/${ended}/retry`, body: { nodeId: "ran" } },
    "POST /api/inputs/:id": { path: `/api/inputs/${question?.id}`, body: { value: { answer: "yes" } } },
  };
}

function idOf({ body }: Answer, what: string): string {
  return (body[what] as { id: string }).id;
}

/** Sends a request of {@link openRequests}, and has the outbox hold no more than what comes of it. */
async function send(web: Web, route: string, { path, body }: PublishingRequest, options: CallOptions): Promise<Response> {
  await web.database.pool.query(`DELETE FROM "OutboxEvent"`);
  return fetch(`${web.url}${path}`, {
    method: route.split(" ")[0] ?? "",
    headers: { authorization: `Bearer ${web.key}`, "content-type": "application/json", ...options.headers },
    body: JSON.stringify(body),
  });
}

test("how deep a request says that it is, each event is that comes of it; one that says nothing is somebody's own", async () => {
  const web = await openWeb();
  for (const [route, request] of Object.entries(await openRequests(web))) {
    const response = await send(web, route, request, at(3));
    // A stream has ended when all of it was read.
    await response.text();
    expect(response.status, route).toBeLessThan(300);
    expect(await depths(web), route).toEqual(request.depths ?? [3]);
  }
  await web.database.pool.query(`DELETE FROM "OutboxEvent"`);
  await web.call("POST", "/api/tables/deal/rows", { data: {} });
  expect(await depths(web)).toEqual([0]);
});

test("whatever else the API can be asked to change publishes nothing", async () => {
  const web = await openWeb({ WORKFLOW_CREDENTIALS_KEY: CREDENTIALS_KEY });
  const publishing = Object.keys(await openRequests(web));
  await web.database.pool.query(`DELETE FROM "OutboxEvent"`);
  const definition = manual([note("ran")]) as unknown as JsonValue;
  const workflow = idOf(await web.call("POST", "/api/workflows", { definition }), "workflow");
  const silent: Record<string, [path: string, body: JsonValue]> = {
    "POST /api/forms": ["/api/forms", FORM],
    "POST /api/workflows": ["/api/workflows", { definition }],
    "PUT /api/workflows/:id": [`/api/workflows/${workflow}`, { definition }],
    "POST /api/workflows/:id/live": [`/api/workflows/${workflow}/live`, { live: true }],
    "POST /api/credentials": ["/api/credentials", { name: "shop", header: "x-key", secret: "s" }],
  };
  for (const [route, [path, body]] of Object.entries(silent)) {
    expect((await web.call(route.split(" ")[0] ?? "", path, body)).status, route).toBeLessThan(300);
  }
  expect(await depths(web)).toEqual([]);
  // A new route has to be in one of the two lists.
  expect([...publishing, ...Object.keys(silent)].toSorted()).toEqual(web.routes.toSorted());
});

test.each(["1001", "-1", "1.5", "deep", "", "1, 2"])(
  "a depth of %j is refused with what was expected, and publishes nothing",
  async (depth) => {
    const web = await openWeb();
    for (const [route, request] of Object.entries(await openRequests(web))) {
      const response = await send(web, route, request, at(depth));
      const { error } = (await response.json()) as Answer["body"];
      expect({ status: response.status, code: error?.code }, route).toEqual({ status: 400, code: "API.ARGUMENT" });
      expect(error?.message, route).toContain("toolctrl-depth");
      expect(await depths(web), route).toEqual([]);
    }
  },
);

test("a step's call says that it is one deeper than its run, whatever header the step has itself", async () => {
  const web = await openWeb();
  const step = call("tell", web.peer.url);
  const shallow = { ...step, config: { ...step.config, headers: { "Toolctrl-Depth": "0" } } } as typeof step;
  const workflowId = await web.addWorkflow(manual([shallow]));
  const { body } = await web.call("POST", `/api/workflows/${workflowId}/runs`, {}, at(2));
  const { id } = (body as unknown as { run: { id: string } }).run;
  expect(await web.work(id)).toEqual({ kind: "ended", status: "success" });
  expect(web.peer.requests.map(({ headers }) => headers["toolctrl-depth"])).toEqual(["3"]);
});

test("a run that is asked for as deep as loops are stopped is rejected, with the reason on record", async () => {
  const web = await openWeb();
  const workflowId = await web.addWorkflow(manual([note("ran")]));
  const { status, body } = await web.call("POST", `/api/workflows/${workflowId}/runs`, {}, at(MAX_WORKFLOW_DEPTH));
  expect({ status, run: body["run"] }).toMatchObject({ status: 202, run: { status: "rejected", reasonCode: "WORKFLOW.LOOP_STOPPED" } });
});

test("a program that has a run repeat the very call that led to it is stopped; a person may have it repeated all the same", async () => {
  const web = await openWeb();
  const id = await web.startRun(await web.addWorkflow(manual([call("tell", web.peer.url)])));
  const repeat = (options?: CallOptions): Promise<Answer> => web.call("POST", `/api/runs/${id}/retry`, { nodeId: "tell" }, options);
  const answers: Answer[] = [];
  while (answers.length < MAX_WORKFLOW_DEPTH) {
    await web.work(id);
    answers.push(await repeat(at(web.peer.requests.at(-1)?.headers["toolctrl-depth"] as string)));
  }
  const depthsOfCalls = web.peer.requests.map(({ headers }) => Number(headers["toolctrl-depth"]));
  expect(depthsOfCalls).toEqual(Array.from({ length: MAX_WORKFLOW_DEPTH }, (_, round) => round + 1));
  const stopped = answers.pop();
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  expect({ status: stopped?.status, code: stopped?.body.error?.code }).toEqual({ status: 409, code: "WORKFLOW.LOOP_STOPPED" });
  expect((await repeat()).status).toBe(202);
});

test.each(["POST /api/runs/:id/cancel", "POST /api/runs/:id/retry", "POST /api/inputs/:id"])(
  "%s, asked for as deep as loops are stopped, is refused and changes nothing",
  async (route) => {
    const web = await openWeb();
    const request = (await openRequests(web))[route];
    if (request === undefined) throw new Error(`expected a request of ${route}, got none`);
    const response = await send(web, route, request, at(MAX_WORKFLOW_DEPTH));
    const { error } = (await response.json()) as Answer["body"];
    expect({ status: response.status, code: error?.code }).toEqual({ status: 409, code: "WORKFLOW.LOOP_STOPPED" });
    expect(await depths(web)).toEqual([]);
    expect((await send(web, route, request, {})).status).toBeLessThan(300);
  },
);
