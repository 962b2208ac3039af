import { createExecutor, BRIDGE_PATH } from "@toolctrl/workflow/executors";
import { expect, test } from "vitest";
import { manual, note } from "./definitions.ts";
import { signRequest, type SignedRequest } from "./sign-request.ts";
import { BRIDGE_SECRET, openWeb, TENANT, type Web } from "./support.ts";

const HTTP = { WORKFLOW_EXECUTOR: "http", WORKFLOW_BRIDGE_SECRET: BRIDGE_SECRET };
const NEVER = new AbortController().signal;

async function openRun(): Promise<{ web: Web; body: string; executionId: string }> {
  const web = await openWeb(HTTP);
  const executionId = await web.startRun(await web.addWorkflow(manual([note("a")])));
  return { web, executionId, body: JSON.stringify({ type: "trigger", tenantId: TENANT, executionId }) };
}

async function send(web: Web, { path, headers, body }: SignedRequest): Promise<{ status: number; answer: object }> {
  const response = await fetch(`${web.url}${path}`, { method: "POST", headers: { "content-type": "application/json", ...headers }, body });
  return { status: response.status, answer: (await response.json()) as object };
}

const REFUSED = { status: 401, answer: { error: { code: "WORKFLOW.BRIDGE" } } };

test("a signed request is executed once: the same one again is refused", async () => {
  const { web, body, executionId } = await openRun();
  const request = signRequest({ body });
  expect(await send(web, request)).toEqual({ status: 200, answer: { kind: "ended", status: "success" } });
  expect(await send(web, request)).toMatchObject(REFUSED);
  expect((await web.call("GET", `/api/runs/${executionId}`)).body).toMatchObject({ run: { status: "success", steps: [{ nodeId: "a" }] } });
});

test.each<[string, (body: string) => SignedRequest]>([
  ["signed with another secret", (body) => signRequest({ body, secret: "c".repeat(40) })],
  ["of six minutes ago", (body) => signRequest({ body, timestamp: Date.now() - 6 * 60_000 })],
  ["of a clock that is six minutes ahead", (body) => signRequest({ body, timestamp: Date.now() + 6 * 60_000 })],
  ["signed for another path", (body) => ({ ...signRequest({ body, path: "/internal/other" }), path: BRIDGE_PATH })],
  ["with a query that was not signed", (body) => ({ ...signRequest({ body }), path: `${BRIDGE_PATH}?x=1` })],
  ["signed for another method", (body) => signRequest({ body, method: "PUT" })],
  ["with another body", (body) => ({ ...signRequest({ body }), body: body.replace(TENANT, "acme2") })],
  ["with a blank more in its body", (body) => ({ ...signRequest({ body }), body: `${body} ` })],
  ["with another nonce", (body) => withHeader(signRequest({ body }), "x-bridge-nonce", "other")],
  ["with another time", (body) => withHeader(signRequest({ body }), "x-bridge-timestamp", String(Date.now() + 1))],
  ["without a signature", (body) => withHeader(signRequest({ body }), "x-bridge-signature", "")],
  ["without any of it", (body) => ({ path: BRIDGE_PATH, body, headers: {} })],
])("a request %s is refused, and executes nothing", async (_what, make) => {
  const { web, body, executionId } = await openRun();
  expect(await send(web, make(body))).toMatchObject(REFUSED);
  expect((await web.call("GET", `/api/runs/${executionId}`)).body).toMatchObject({ run: { status: "queued", steps: [] } });
});

test("a key of a tenant opens nothing here", async () => {
  const { web, body } = await openRun();
  expect(await send(web, { path: BRIDGE_PATH, body, headers: { authorization: `Bearer ${web.key}` } })).toMatchObject(REFUSED);
});

test("a signed request for something else is told so: another type, another tenant's run, one that is not there", async () => {
  const { web, body, executionId } = await openRun();
  expect(await send(web, signRequest({ body: body.replace("trigger", "other") }))).toMatchObject({
    status: 400,
    answer: { error: { code: "API.ARGUMENT" } },
  });
  expect(await send(web, signRequest({ body: "{" }))).toMatchObject({ status: 400 });
  const stranger = JSON.stringify({ type: "trigger", tenantId: "other", executionId });
  expect(await send(web, signRequest({ body: stranger }))).toMatchObject({
    status: 404,
    answer: { error: { code: "WORKFLOW.NOT_FOUND" } },
  });
});

test("without a secret the bridge is not there", async () => {
  const web = await openWeb();
  expect(await send(web, signRequest({ body: "{}" }))).toMatchObject({ status: 404, answer: { error: { code: "API.NOT_FOUND" } } });
});

test("the http executor has the web app execute a run, and says how it was left", async () => {
  const { web, executionId } = await openRun();
  const bridge = { url: web.url, secret: BRIDGE_SECRET, deadlineMs: 10_000 };
  const execute = (secret = BRIDGE_SECRET) =>
    createExecutor({ kind: "http", bridge: { ...bridge, secret } }, web.workerDeps).execute({ tenantId: TENANT, executionId }, NEVER);
  await expect(execute("c".repeat(40))).rejects.toMatchObject({ code: "WORKFLOW.BRIDGE", facts: { status: 401 } });
  expect(await execute()).toEqual({ kind: "ended", status: "success" });
});

function withHeader(request: SignedRequest, name: string, value: string): SignedRequest {
  return { ...request, headers: { ...request.headers, [name]: value } };
}
