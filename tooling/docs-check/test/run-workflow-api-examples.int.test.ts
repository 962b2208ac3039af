import { join } from "node:path";
import { transaction, type Database } from "@toolctrl/db/client";
import { findApiKey } from "@toolctrl/domain/api-keys";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { createLogger } from "@toolctrl/runtime/logger";
import { spawnNode } from "@toolctrl/testkit/process";
import { createWorkflow, switchWorkflow } from "@toolctrl/workflow/definitions";
import { listOpenInputs, readExecution } from "@toolctrl/workflow/executions";
import { runExecution } from "@toolctrl/workflow/runner";
import { expect, test, vi } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { give, openDatabase } from "./given.ts";
import { ROOT } from "../src/repository.ts";

const GUIDE = "docs/guides/workflow-api.md";
const TENANT = "acme";

/** Asks whether to accept somebody. */
const APPROVAL: WorkflowDefinitionInput = {
  name: "Approval",
  trigger: { type: "manual", input: [{ name: "email", label: "Mail", type: "text" }] },
  start: "approve",
  nodes: [
    {
      id: "approve",
      block: "waitForInput",
      config: {
        title: "Accept {{ trigger.email }}?",
        fields: [{ name: "decision", label: "Decision", type: "choice", choices: ["accept", "decline"] }],
      },
    },
  ],
  edges: [{ from: "approve", to: null }],
};

/** The web app as a process of its own: nothing else may import it. */
async function startWeb(databaseUrl: string): Promise<string> {
  const child = spawnNode(join(ROOT, "apps/web/src/main.ts"), { env: { NODE_ENV: "test", DATABASE_URL: databaseUrl, WEB_PORT: "0" } });
  const line = await child.waitForLine(/"msg":"web server listens"/);
  return `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`;
}

function addApproval(database: Database): Promise<string> {
  return transaction(database.pool, async (tx) => {
    const { id } = await createWorkflow(tx, { tenantId: TENANT, definition: APPROVAL });
    await switchWorkflow(tx, { tenantId: TENANT, workflowId: id }, true);
    return id;
  });
}

/** Executes a run as a worker does. */
async function work({ pool }: Database, executionId: string): Promise<void> {
  const http = createGuardedHttp();
  const log = createLogger({ app: "test", level: "silent" });
  await runExecution({ pool, http, credentials: null, log }, { tenantId: TENANT, executionId }, new AbortController().signal);
  await http.close();
}

test("the examples on the workflow API start a run once, answer its question and watch one", async () => {
  const { database, url } = await openDatabase();
  give({ database, tenantId: TENANT });
  const { key, revoke } = (await runExample(exampleOf(GUIDE, "createApiKey"))) as { key: string; revoke(): Promise<boolean> };
  vi.stubGlobal("webUrl", await startWeb(url));
  vi.stubGlobal("apiKey", key);
  vi.stubGlobal("workflowId", await addApproval(database));

  const start = exampleOf(GUIDE, "idempotency-key");
  const { started } = (await runExample(start)) as { started: { run: { id: string; status: string }; duplicate: boolean } };
  expect(started).toMatchObject({ duplicate: false, run: { status: "queued" } });
  expect(await runExample(start)).toMatchObject({ started: { duplicate: true, run: { id: started.run.id } } });
  await work(database, started.run.id);

  const [input] = await listOpenInputs(database.pool, { tenantId: TENANT });
  vi.stubGlobal("inputId", input?.id);
  const answer = exampleOf(GUIDE, "/api/inputs/");
  expect([(await runExample(answer))["answered"], (await runExample(answer))["answered"]]).toEqual([200, 409]);
  await work(database, started.run.id);
  const ended = await readExecution(database.pool, { tenantId: TENANT, executionId: started.run.id });
  expect(ended).toMatchObject({ status: "success", inputs: [{ value: { decision: "accept" }, answeredBy: "key:shop" }] });

  const { events } = (await runExample(exampleOf(GUIDE, "/stream"))) as { events: string[] };
  expect(events.map((event) => event.split("\n")[0])).toEqual([...events.slice(1).map(() => "event: run"), "event: end"]);
  expect(events.at(-1)).toContain(`"status":"waiting"`);
  expect(await revoke()).toBe(true);
  expect(await findApiKey(database.pool, key)).toBeNull();
});
