import { expect, test } from "vitest";
import {
  continuationsArePublished,
  noEngineFacade,
  onlyStreamExecutorsAndBridgeRun,
  onlyTheBridgeExecutesTriggers,
  startsArePublished,
  type Rule,
} from "../src/inventory/execution-rules.ts";
import type { Sources } from "../src/inventory/open-sources.ts";
import { doctored, extended, sources } from "./doctored.ts";

const RULES = new Map<string, Rule>([
  ["only the stream, the executors and the bridge have a run executed", onlyStreamExecutorsAndBridgeRun],
  ["runs by hand and through the API publish workflow.execution.requested, and never execute inline", startsArePublished],
  ["continuations publish workflow.execution.continue.requested, and never execute inline", continuationsArePublished],
  [`only the bridge executes a request of type "trigger", and checks its signature first`, onlyTheBridgeExecutesTriggers],
  ["no WorkflowEngine is there to trigger anything", noEngineFacade],
]);

test.each([...RULES])("%s", (_, rule) => {
  expect(rule(sources)).toEqual([]);
});

test("the inventory looks at the apps, the packages, and for the facade at tests and tooling too", () => {
  const folders = new Set(sources.product.map((path) => path.split("/").slice(0, 2).join("/")));
  expect([...folders]).toEqual(
    expect.arrayContaining(["apps/cli", "apps/web", "apps/worker-general", "packages/domain", "packages/workflow"]),
  );
  expect(sources.product.filter((path) => /\.test\.ts$|\/test\//.test(path))).toEqual([]);
  expect(sources.all).toEqual(expect.arrayContaining(["packages/workflow/test/support.ts", "tooling/bench/src/main.ts"]));
});

const EXECUTE = `await runExecution(deps, { tenantId: "t", executionId: "e" }, new AbortController().signal);`;
const ROUTES = "apps/web/src/routes/runs.ts";
const SERVICE = "packages/workflow/src/executions/executions-service.ts";
const START = "packages/workflow/src/executions/start-run.ts";
const INSERT = "packages/workflow/src/executions/insert-execution.ts";
const SUBMIT = "packages/workflow/src/executions/submit-input.ts";
const CONTINUE = "packages/workflow/src/runner/publish-continue.ts";
const BRIDGE = "apps/web/src/routes/bridge.ts";

test.each<[string, Rule, () => Sources, string]>([
  [
    "a route that executes a run itself",
    onlyStreamExecutorsAndBridgeRun,
    () => extended(ROUTES, `import { runExecution as go } from "@toolctrl/workflow/runner";\nawait go();`),
    `${ROUTES}: takes runExecution`,
  ],
  [
    "a route that loads all of the runner when it is asked",
    onlyStreamExecutorsAndBridgeRun,
    () => extended(ROUTES, `const runner = await import("@toolctrl/workflow/runner");`),
    `${ROUTES}: takes runExecution`,
  ],
  [
    "a command that makes itself an executor",
    onlyStreamExecutorsAndBridgeRun,
    () => extended("apps/cli/src/program.ts", `import * as executors from "@toolctrl/workflow/executors";`),
    "apps/cli/src/program.ts: takes createExecutor",
  ],
  [
    "a block that takes turns at a run",
    onlyStreamExecutorsAndBridgeRun,
    () => extended("packages/workflow/src/blocks/rows.ts", `import { takeTurn } from "../runner/take-turn.ts";`),
    "packages/workflow/src/blocks/rows.ts: takes takeTurn",
  ],
  [
    "a service that executes what it starts",
    onlyStreamExecutorsAndBridgeRun,
    () =>
      doctored(
        SERVICE,
        "run: (request) => transaction(pool, (tx) => startRun(tx, request, executor)),",
        `async run(request) { const made = await transaction(pool, (tx) => startRun(tx, request, executor)); ${EXECUTE} return made; },`,
      ),
    `${SERVICE}: calls runExecution in createExecutionsService.run`,
  ],
  [
    "a service that executes what was answered",
    onlyStreamExecutorsAndBridgeRun,
    () =>
      doctored(
        SERVICE,
        "continue: (submission) => transaction(pool, (tx) => submitInput(tx, submission)),",
        `continue: async (submission) => { ${EXECUTE} },`,
      ),
    `${SERVICE}: calls runExecution in createExecutionsService.continue`,
  ],
  [
    "a list that names who no longer takes it",
    onlyStreamExecutorsAndBridgeRun,
    () => doctored(BRIDGE, "import { runExecution,", "import {"),
    `${BRIDGE}: expected to take runExecution`,
  ],
  [
    "a run that is recorded and published by nobody",
    startsArePublished,
    () => doctored(INSERT, `type: "workflow.execution.requested",`, `type: "workflow.execution.asked",`),
    `workflow.execution.requested: expected to be published by ${INSERT} alone, got nobody`,
  ],
  [
    "a second place that publishes requests",
    startsArePublished,
    () => extended(ROUTES, `await publishOutboxEvent(tx, { tenantId: "t", type: "workflow.execution.requested", payload: {} });`),
    `workflow.execution.requested: expected to be published by ${INSERT} alone, got ${ROUTES}, ${INSERT}`,
  ],
  [
    "a start that writes no run",
    startsArePublished,
    () => doctored(START, "return insertExecution(tx, {", "return record(tx, {"),
    `${START}: expected startRun to call insertExecution`,
  ],
  [
    "a start that loads the runner",
    startsArePublished,
    () => extended(START, `const { takeTurn } = await import("../runner/take-turn.ts");`),
    `${START}: loads packages/workflow/src/runner/take-turn.ts`,
  ],
  [
    "a route that starts a run past the service",
    startsArePublished,
    () => doctored(ROUTES, "await service.run({", "await streams.start({"),
    `${ROUTES}: starts a run with streams.start`,
  ],
  [
    "an answer that has nobody go on",
    continuationsArePublished,
    () => doctored(SUBMIT, "await publishContinue(tx, run.rows[0],", "await note(tx, run.rows[0],"),
    `${SUBMIT}: expected submitInput to call publishContinue`,
  ],
  [
    "an answer that goes on by itself",
    continuationsArePublished,
    () => extended(SUBMIT, `import { runExecution } from "../runner/run-execution.ts";`),
    `${SUBMIT}: loads packages/workflow/src/runner/run-execution.ts`,
  ],
  [
    "a continuation of another type",
    continuationsArePublished,
    () => doctored(CONTINUE, `type: "workflow.execution.continue.requested",`, "type: TYPE,"),
    `workflow.execution.continue.requested: expected to be published by ${CONTINUE} alone, got nobody`,
  ],
  [
    "a route that takes the bridge's requests",
    onlyTheBridgeExecutesTriggers,
    () => extended(ROUTES, `import { bridgeRequestSchema } from "@toolctrl/workflow/executors";`),
    `${ROUTES}: takes bridgeRequestSchema`,
  ],
  [
    "a route with requests of that type of its own",
    onlyTheBridgeExecutesTriggers,
    () => extended(ROUTES, `const body = z.object({ type: z.literal("trigger") });`),
    `${ROUTES}: names a request of type "trigger"`,
  ],
  [
    "a module that makes such a request",
    onlyTheBridgeExecutesTriggers,
    () => extended(ROUTES, `JSON.stringify({ type: "trigger", executionId: "e" } satisfies object);`),
    `${ROUTES}: names a request of type "trigger"`,
  ],
  [
    "a bridge that runs first and checks afterwards",
    onlyTheBridgeExecutesTriggers,
    () => doctored(BRIDGE, "const body = typeof", `${EXECUTE}\n    const body = typeof`),
    `${BRIDGE}: expected the signature to be checked before a run is executed`,
  ],
  [
    "a facade that triggers a workflow",
    noEngineFacade,
    () => extended("packages/domain/src/rows.ts", `await WorkflowEngine.trigger("row.created");`),
    "packages/domain/src/rows.ts: names WorkflowEngine",
  ],
])("%s is found", (_, rule, change, breach) => {
  expect(rule(change())).toContain(breach);
});
