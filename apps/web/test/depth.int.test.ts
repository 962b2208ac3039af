import type { JsonValue } from "@toolctrl/foundation/json";
import { MAX_WORKFLOW_DEPTH } from "@toolctrl/foundation/workflows";
import { expect, test } from "vitest";
import { call, manual, note } from "./definitions.ts";
import { openWeb, type Answer, type CallOptions, type Web } from "./support.ts";

/** What a caller says whom a call of ours has led here. */
const at = (depth: number | string) => ({ headers: { "toolctrl-depth": String(depth) } });

async function depths({ database: { pool } }: Web): Promise<number[]> {
  const { rows } = await pool.query<{ depth: number }>(`SELECT DISTINCT "depth" FROM "OutboxEvent" ORDER BY 1`);
  return rows.map(({ depth }) => depth);
}

/** Each request that publishes something, on rows, forms and workflows that are there. */
async function openRequests(web: Web): Promise<Array<[path: string, send: (options: CallOptions) => Promise<Answer>]>> {
  const { body: made } = await web.call("POST", "/api/forms", { name: "Ask", fields: [{ name: "email", kind: "email", required: true }] });
  const form = (made as unknown as { form: { id: string } }).form.id;
  const { body: created } = await web.call("POST", "/api/tables/deal/rows", { data: {} });
  const row = (created as unknown as { row: { id: string } }).row.id;
  const workflow = await web.addWorkflow(manual([note("ran")]));
  await web.database.pool.query(`DELETE FROM "OutboxEvent"`);
  const requests: Array<[string, string, JsonValue]> = [
    ["POST", "/api/tables/deal/rows", { data: {} }],
    ["PATCH", `/api/tables/deal/rows/${row}`, { data: { n: 1 } }],
    ["DELETE", `/api/tables/deal/rows/${row}`, {}],
    ["POST", `/api/forms/${form}/submissions`, { data: { email: "ann@example.com" } }],
    ["POST", `/api/workflows/${workflow}/runs`, {}],
  ];
  return requests.map(([method, path, body]) => [`${method} ${path}`, (options) => web.call(method, path, body, options)]);
}

test("how deep a request says that it is, each event is that comes of it; one that says nothing is somebody's own", async () => {
  const web = await openWeb();
  for (const [path, send] of await openRequests(web)) {
    expect((await send(at(3))).status, path).toBeLessThan(300);
    expect(await depths(web), path).toEqual([3]);
  }
  await web.call("POST", "/api/tables/deal/rows", { data: {} });
  expect(await depths(web)).toEqual([0, 3]);
});

test.each(["1001", "-1", "1.5", "deep", "", "1, 2"])(
  "a depth of %j is refused with what was expected, and publishes nothing",
  async (depth) => {
    const web = await openWeb();
    for (const [path, send] of await openRequests(web)) {
      const { status, body } = await send(at(depth));
      expect({ status, code: body.error?.code }, path).toEqual({ status: 400, code: "API.ARGUMENT" });
      expect(body.error?.message, path).toContain("toolctrl-depth");
    }
    expect(await depths(web)).toEqual([]);
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
