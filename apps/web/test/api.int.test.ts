import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { revokeApiKey } from "@toolctrl/domain/api-keys";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { expect, test } from "vitest";
import { manual, note } from "./definitions.ts";
import { callApi, openWeb, TENANT } from "./support.ts";

const NO_ID = "0190a0a0-0000-7000-8000-000000000001";

test("a request without a key that counts is refused, whatever is wrong with it, and says how to send one", async () => {
  const web = await openWeb();
  const revoked = await web.keyOf(TENANT);
  const { rows } = await web.database.pool.query<{ id: string }>(
    `SELECT "id"::text AS "id" FROM "ApiKey" ORDER BY "createdAt" DESC LIMIT 1`,
  );
  await revokeApiKey(web.database.pool, { tenantId: TENANT, id: rows[0]?.id ?? "" });
  const headers = [
    {},
    ...[`Bearer ${revoked}`, "Bearer tck_unknown", "Bearer ", `Basic ${web.key}`, web.key].map((authorization) => ({ authorization })),
  ];
  for (const each of headers) {
    for (const path of ["/api/workflows", "/api/runs", "/api/inputs", "/api/credentials"]) {
      const { status, body, headers: answered } = await callApi(web.url, { headers: each }, "GET", path);
      expect({ status, code: body.error?.code }, JSON.stringify(each)).toEqual({ status: 401, code: "API.KEY" });
      expect(answered.get("www-authenticate")).toBe("Bearer");
      expect(body.error?.fix).toContain("Authorization: Bearer");
    }
  }
});

test("a tenant sees nothing of another one: each thing of it is not there", async () => {
  const web = await openWeb();
  const stranger = { key: await web.keyOf("other") };
  const created = await web.call("POST", "/api/tables/deal/rows", { data: { stage: "new" } });
  const rowId = (created.body as unknown as { row: { id: string } }).row.id;
  const form = await web.call("POST", "/api/forms", { name: "Ask", fields: [{ name: "email", kind: "email" }] });
  const formId = (form.body as unknown as { form: { id: string } }).form.id;
  const workflowId = await web.addWorkflow(
    manual([{ id: "ask", block: "waitForInput", config: { title: "?", fields: [{ name: "a", label: "A", type: "text" }] } }]),
  );
  const runId = await web.startRun(workflowId);
  await web.work(runId);
  const { body: open } = await web.call("GET", "/api/inputs");
  const inputId = (open as unknown as { inputs: Array<{ id: string }> }).inputs[0]?.id ?? "";
  const definition = manual([note("a")]) as never;
  const requests: Array<[string, string, never?]> = [
    ["GET", `/api/tables/deal/rows/${rowId}`],
    ["PATCH", `/api/tables/deal/rows/${rowId}`, { data: {} } as never],
    ["DELETE", `/api/tables/deal/rows/${rowId}`],
    ["GET", `/api/tables/deal/rows/${rowId}/events`],
    ["GET", `/api/forms/${formId}`],
    ["POST", `/api/forms/${formId}/submissions`, { data: {} } as never],
    ["GET", `/api/workflows/${workflowId}`],
    ["PUT", `/api/workflows/${workflowId}`, { definition } as never],
    ["POST", `/api/workflows/${workflowId}/live`, { live: false } as never],
    ["POST", `/api/workflows/${workflowId}/runs`],
    ["POST", `/api/workflows/${workflowId}/stream`],
    ["GET", `/api/runs/${runId}`],
    ["POST", `/api/runs/${runId}/cancel`],
    ["POST", `/api/runs/${runId}/retry`, { nodeId: "ask" } as never],
    ["POST", `/api/inputs/${inputId}`, { value: { a: "x" } } as never],
  ];
  for (const [method, path, body] of requests) {
    const { status, body: answer } = await web.call(method, path, body, stranger);
    expect({ status, code: answer.error?.code }, `${method} ${path}`).toEqual({ status: 404, code: expect.stringMatching(/\.NOT_FOUND$/) });
  }
  for (const list of ["workflows", "runs", "inputs", "credentials"]) {
    expect((await web.call("GET", `/api/${list}`, undefined, stranger)).body, list).toEqual({ [list]: [] });
  }
  expect((await web.call("GET", `/api/runs/${runId}`)).body).toMatchObject({ run: { status: "waiting" } });
});

test.each([
  ["POST", "/api/tables/Deal/rows", { data: {} }, "ROW.ARGUMENT"],
  ["POST", "/api/tables/deal/rows", { data: [] }, "API.ARGUMENT"],
  ["POST", "/api/tables/deal/rows", { data: {}, more: 1 }, "API.ARGUMENT"],
  ["POST", "/api/tables/deal/rows", { data: { a: "\u0000" } }, "API.ARGUMENT"],
  ["POST", "/api/tables/deal/rows", { data: {}, notify: [""] }, "PUBLISH.ARGUMENT"],
  ["GET", "/api/tables/deal/rows/1", undefined, "ROW.ARGUMENT"],
  ["POST", "/api/forms", { name: "", fields: [] }, "FORM.ARGUMENT"],
  ["POST", "/api/workflows", { definition: {} }, "WORKFLOW.DEFINITION"],
  ["POST", "/api/workflows", {}, "API.ARGUMENT"],
  ["GET", "/api/workflows/7", undefined, "API.ARGUMENT"],
  ["GET", "/api/workflows?after=7", undefined, "API.ARGUMENT"],
  ["GET", "/api/runs?status=lost", undefined, "API.ARGUMENT"],
  ["GET", "/api/runs?other=1", undefined, "API.ARGUMENT"],
  ["POST", `/api/runs/${NO_ID}/retry`, {}, "API.ARGUMENT"],
  ["POST", `/api/inputs/${NO_ID}`, { value: "yes" }, "API.ARGUMENT"],
  ["POST", "/api/credentials", { name: "n", header: "Idempotency-Key", secret: "s" }, "API.ARGUMENT"],
  ["POST", "/api/credentials", { name: "n", header: "x-key", secret: "s\r\nx: y" }, "API.ARGUMENT"],
])("%s %s with %j answers 400 and says what is wrong", async (method, path, body, code) => {
  const web = await openWeb();
  const { status, body: answer } = await web.call(method, path, body);
  expect({ status, code: answer.error?.code }).toEqual({ status: 400, code });
  expect(answer.error?.message).toMatch(/^expected /);
});

test("a body that is no JSON, of another kind, or too large is refused, and nothing of it is kept", async () => {
  const web = await openWeb();
  const post = async (body: string, type = "application/json"): Promise<{ status: number; code: string | undefined }> => {
    const headers = { authorization: `Bearer ${web.key}`, "content-type": type };
    const response = await fetch(`${web.url}/api/tables/deal/rows`, { method: "POST", headers, body });
    return { status: response.status, code: ((await response.json()) as { error?: { code: string } }).error?.code };
  };
  expect(await post("{")).toEqual({ status: 400, code: "API.ARGUMENT" });
  expect(await post(`{"data":{"__proto__":{}}}`)).toEqual({ status: 400, code: "API.ARGUMENT" });
  expect(await post("<a/>", "text/xml")).toEqual({ status: 415, code: "API.ARGUMENT" });
  expect(await post(JSON.stringify({ data: { text: "x".repeat(1024 * 1024) } }))).toEqual({ status: 413, code: "API.TOO_LARGE" });
  expect(await web.published()).toEqual([]);
});

test("another path and a malformed one are not there", async () => {
  const web = await openWeb();
  for (const path of ["/", "/api/nothing", "/internal/workflow/executions"]) {
    expect((await web.call("GET", path)).body.error?.code, path).toBe("API.NOT_FOUND");
  }
  expect(await web.call("GET", "/api/workflows/%E0%A4%A")).toMatchObject({ status: 400, body: { error: { code: "API.ARGUMENT" } } });
});

test("while the database is away requests are told to come again, and are served once it is back", async () => {
  const { url } = await createTestDatabase();
  const target = new URL(url);
  const proxy = await startTcpProxy({ toPort: Number(target.port) });
  target.hostname = "127.0.0.1";
  target.port = String(proxy.port);
  const web = await openWeb({}, target.href);
  await proxy.refuse();
  for (const path of ["/api/workflows", "/api/tables/deal/rows/0190a0a0-0000-7000-8000-000000000001"]) {
    const { status, headers, body } = await web.call("GET", path);
    expect({ status, code: body.error?.code, facts: body.error?.facts, after: headers.get("retry-after") }, path).toEqual({
      status: 503,
      code: "API.UNAVAILABLE",
      facts: {},
      after: "1",
    });
  }
  await proxy.resume();
  expect(await web.call("GET", "/api/workflows")).toMatchObject({ status: 200, body: { workflows: [] } });
});

test("answers are counted by their status", async () => {
  const web = await openWeb();
  await web.call("GET", "/api/workflows");
  await web.call("GET", "/nothing");
  const text = await web.metrics.text();
  expect(text).toContain(`web_requests_total{code="200"} 1`);
  expect(text).toContain(`web_requests_total{code="404"} 1`);
});
