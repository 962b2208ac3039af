import { expect, test } from "vitest";
import { executorsRunWithoutCredentials, workersOpenNoCredentials } from "../src/inventory/credential-rules.ts";
import type { Rule } from "../src/inventory/execution-rules.ts";
import type { Sources } from "../src/inventory/open-sources.ts";
import { doctored, extended, sources } from "./doctored.ts";

const EXECUTOR = "packages/workflow/src/executors/create-executor.ts";

test("no module that a worker loads opens the stored credentials or reads the key to them, or is the web app's", () => {
  expect(workersOpenNoCredentials(sources)).toEqual([]);
});

test("an executor runs with credentials: null, whatever it is made of", () => {
  expect(executorsRunWithoutCredentials(sources)).toEqual([]);
});

test("what a worker loads is looked at as a whole, and the web app is what it is not", () => {
  const loaded = sources.closureOf("apps/worker-general/src/main.ts");
  expect(loaded).toEqual(
    expect.arrayContaining([EXECUTOR, "packages/workflow/src/runner/begin-http-call.ts", "packages/db/src/client.ts"]),
  );
  const web = sources.closureOf("apps/web/src/main.ts").filter((path) => path.endsWith(".ts"));
  expect(web.filter((path) => sources.factsOf(path).texts.some((text) => text.includes(`"WorkflowCredential"`)))).not.toEqual([]);
  expect(web.filter((path) => sources.factsOf(path).identifiers.has("WORKFLOW_CREDENTIALS_KEY"))).not.toEqual([]);
});

test.each<[string, Rule, () => Sources, string]>([
  [
    "a worker that reads the table",
    workersOpenNoCredentials,
    () => extended("apps/worker-general/src/open-executor.ts", 'await pool.query(`SELECT * FROM "WorkflowCredential"`);'),
    "apps/worker-general/src/open-executor.ts: opens the stored credentials, and is loaded by apps/worker-general/src/main.ts",
  ],
  [
    "a package that reads it through Prisma, for both workers",
    workersOpenNoCredentials,
    () => extended("packages/db/src/client.ts", "await prisma.workflowCredential.findMany();"),
    "packages/db/src/client.ts: opens the stored credentials, and is loaded by apps/worker-mail/src/main.ts",
  ],
  [
    "a worker whose environment has the key",
    workersOpenNoCredentials,
    () => extended("apps/worker-general/src/workflow-env.ts", "export const more = { WORKFLOW_CREDENTIALS_KEY: secret };"),
    "apps/worker-general/src/workflow-env.ts: reads WORKFLOW_CREDENTIALS_KEY, and is loaded by apps/worker-general/src/main.ts",
  ],
  [
    "a worker that reads the key by its name in quotes",
    workersOpenNoCredentials,
    () => extended("packages/worker/src/resources.ts", `const key = process.env["WORKFLOW_CREDENTIALS_KEY"];`),
    "packages/worker/src/resources.ts: reads WORKFLOW_CREDENTIALS_KEY, and is loaded by apps/worker-mail/src/main.ts",
  ],
  [
    "a worker that loads a module of the web app",
    workersOpenNoCredentials,
    () => extended("apps/worker-general/src/open-executor.ts", `import "../../web/src/runs-here.ts";`),
    "apps/web/src/runs-here.ts: is loaded by apps/worker-general/src/main.ts",
  ],
  [
    "an executor that passes on what it was given",
    executorsRunWithoutCredentials,
    () => doctored(EXECUTOR, "{ ...deps, credentials: null }", "deps"),
    `${EXECUTOR}: expected each run to be executed with credentials: null, last`,
  ],
  [
    "an executor that says so first and overwrites it",
    executorsRunWithoutCredentials,
    () => doctored(EXECUTOR, "{ ...deps, credentials: null }", "{ credentials: null, ...deps }"),
    `${EXECUTOR}: expected each run to be executed with credentials: null, last`,
  ],
])("%s is found", (_, rule, change, breach) => {
  expect(rule(change())).toContain(breach);
});
