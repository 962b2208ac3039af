import { createExecutor } from "@toolctrl/workflow/executors";
import { expect, test } from "vitest";
import { createCredentialSource } from "../src/credentials/create-credential-source.ts";
import { call, manual } from "./definitions.ts";
import { BRIDGE_SECRET, CREDENTIALS_KEY, openWeb, TENANT, type Web } from "./support.ts";

const HYBRID = { WORKFLOW_EXECUTOR: "hybrid", WORKFLOW_BRIDGE_SECRET: BRIDGE_SECRET, WORKFLOW_CREDENTIALS_KEY: CREDENTIALS_KEY };
const SECRET = "Bearer s3cret-of-the-payment-provider";
const NEVER = new AbortController().signal;

async function storeCredential(web: Web, name = "payments"): Promise<string> {
  const stored = await web.call("POST", "/api/credentials", { name, header: "Authorization", secret: SECRET });
  expect(stored).toMatchObject({ status: 201, body: { credential: { name, header: "Authorization" } } });
  return (stored.body as unknown as { credential: { id: string } }).credential.id;
}

test("a stored secret is told to nobody again: no list has it, and no row", async () => {
  const web = await openWeb(HYBRID);
  await storeCredential(web);
  const list = await web.call("GET", "/api/credentials");
  expect(list.body).toMatchObject({ credentials: [{ name: "payments", header: "Authorization" }] });
  const { rows } = await web.database.pool.query(`SELECT * FROM "WorkflowCredential"`);
  for (const text of [JSON.stringify(list.body), JSON.stringify(rows)]) expect(text).not.toContain("s3cret");
});

test("a name is taken once by each tenant", async () => {
  const web = await openWeb(HYBRID);
  await storeCredential(web);
  const again = { name: "payments", header: "x-key", secret: "other" };
  expect(await web.call("POST", "/api/credentials", again)).toMatchObject({
    status: 409,
    body: { error: { code: "WORKFLOW.CREDENTIAL_NAME" } },
  });
  expect(await web.call("POST", "/api/credentials", again, { key: await web.keyOf("other") })).toMatchObject({ status: 201 });
});

test("without the key nothing is stored", async () => {
  const web = await openWeb();
  const given = { name: "payments", header: "x-key", secret: "s" };
  expect(await web.call("POST", "/api/credentials", given)).toMatchObject({
    status: 503,
    body: { error: { code: "WORKFLOW.CREDENTIAL" } },
  });
  expect((await web.call("GET", "/api/credentials")).body).toEqual({ credentials: [] });
});

test("a run with a stored credential goes from the hybrid executor over the bridge, and the peer sees the header", async () => {
  const web = await openWeb(HYBRID);
  const credentialId = await storeCredential(web);
  const executionId = await web.startRun(await web.addWorkflow(manual([call("pay", web.peer.url, credentialId)])));
  const bridge = { url: web.url, secret: BRIDGE_SECRET, deadlineMs: 10_000 };
  const executor = createExecutor({ kind: "hybrid", bridge }, web.workerDeps);
  expect(await executor.execute({ tenantId: TENANT, executionId }, NEVER)).toEqual({ kind: "ended", status: "success" });
  expect(web.peer.requests).toMatchObject([{ method: "POST", path: "/pay", headers: { authorization: SECRET } }]);
  const { body } = await web.call("GET", `/api/runs/${executionId}`);
  expect(JSON.stringify(body)).not.toContain("s3cret");
});

test("no worker can open it: what it would run itself ends with the step that needs it, and no request leaves", async () => {
  const web = await openWeb(HYBRID);
  const credentialId = await storeCredential(web);
  const executionId = await web.startRun(await web.addWorkflow(manual([call("pay", web.peer.url, credentialId)])));
  const executor = createExecutor({ kind: "native" }, web.workerDeps);
  expect(await executor.execute({ tenantId: TENANT, executionId }, NEVER)).toEqual({ kind: "ended", status: "error" });
  expect((await web.call("GET", `/api/runs/${executionId}`)).body).toMatchObject({ run: { reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" } });
  expect(web.peer.requests).toEqual([]);
});

test("a secret opens for its own tenant, credential and header alone, and with its own key", async () => {
  const web = await openWeb(HYBRID);
  const { pool } = web.database;
  const key = { tenantId: TENANT, credentialId: await storeCredential(web) };
  const source = createCredentialSource(CREDENTIALS_KEY);
  expect(await source.open(pool, key)).toEqual({ name: "Authorization", value: SECRET });
  await expect(source.open(pool, { ...key, tenantId: "other" })).rejects.toMatchObject({ code: "WORKFLOW.NOT_FOUND" });
  const otherKey = createCredentialSource(Buffer.alloc(32, 6).toString("base64"));
  await expect(otherKey.open(pool, key)).rejects.toMatchObject({ code: "WORKFLOW.CREDENTIAL" });
  await pool.query(`UPDATE "WorkflowCredential" SET "header" = 'x-other'`);
  await expect(source.open(pool, key)).rejects.toMatchObject({ code: "WORKFLOW.CREDENTIAL" });
  await pool.query(`UPDATE "WorkflowCredential" SET "header" = 'Authorization', "tenantId" = 'other'`);
  await expect(source.open(pool, { ...key, tenantId: "other" })).rejects.toMatchObject({ code: "WORKFLOW.CREDENTIAL" });
});
