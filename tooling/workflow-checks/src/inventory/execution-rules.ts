import type { Node } from "oxc-parser";
import type { Sources } from "./open-sources.ts";
import { nameOf, type Call } from "./read-facts.ts";

/** What is wrong, a line for each breach; none when the rule holds. */
export type Rule = (sources: Sources) => string[];

const RUN_EXECUTION = "packages/workflow/src/runner/run-execution.ts";
const TAKE_TURN = "packages/workflow/src/runner/take-turn.ts";
const SERVICE = "packages/workflow/src/executions/executions-service.ts";
const START_RUN = "packages/workflow/src/executions/start-run.ts";
const INSERT_EXECUTION = "packages/workflow/src/executions/insert-execution.ts";
const SUBMIT_INPUT = "packages/workflow/src/executions/submit-input.ts";
const RETRY_FROM = "packages/workflow/src/executions/retry-from.ts";
const PUBLISH_CONTINUE = "packages/workflow/src/runner/publish-continue.ts";
const FAN_OUT = "packages/workflow/src/triggers/fan-out-trigger.ts";
const CREATE_EXECUTOR = "packages/workflow/src/executors/create-executor.ts";
const BRIDGE_EXECUTOR = "packages/workflow/src/executors/bridge-executor.ts";
const BRIDGE = "apps/web/src/routes/bridge.ts";

/** Nobody else gets a run executed: an API, a command or a consumer can only ask for it. */
export const onlyStreamExecutorsAndBridgeRun: Rule = (sources) => [
  ...onlyImporters(sources, "runExecution", /^@toolctrl\/workflow\/runner$|\/(?:runner|run-execution)\.ts$/, [
    BRIDGE,
    "packages/workflow/src/runner.ts",
    CREATE_EXECUTOR,
    SERVICE,
  ]),
  ...onlyImporters(sources, "takeTurn", /\/take-turn\.ts$/, [RUN_EXECUTION]),
  ...onlyImporters(sources, "makeHttpCall", /\/make-http-call\.ts$/, [RUN_EXECUTION]),
  ...onlyImporters(sources, "runBlock", /\/run-block\.ts$/, [TAKE_TURN]),
  ...onlyImporters(sources, "createExecutor", /^@toolctrl\/workflow\/executors$|\/create-executor\.ts$/, [
    "apps/worker-general/src/open-executor.ts",
    "packages/workflow/src/executors.ts",
  ]),
  ...onlyWithin(sources, SERVICE, "runExecution", ["stream"]),
];

/** A person's run, and one through the API, is recorded and published in one transaction, and executed by whoever takes the event. */
export const startsArePublished: Rule = (sources) => [
  ...onlyImporters(sources, "startRun", /\/start-run\.ts$/, [SERVICE]),
  ...onlyWithin(sources, SERVICE, "startRun", ["run", "stream"]),
  ...calls(sources, START_RUN, "startRun", "insertExecution"),
  ...calls(sources, FAN_OUT, "fanOutTrigger", "insertExecution"),
  ...calls(sources, INSERT_EXECUTION, "insertExecution", "publishRequested"),
  ...publishes(sources, INSERT_EXECUTION, "workflow.execution.requested"),
  ...[START_RUN, INSERT_EXECUTION, FAN_OUT].flatMap((path) => loadsNoRunner(sources, path)),
  ...startsOnlyThroughRun(sources),
];

/** An answer and a repeat are recorded with the event that has the run gone on with. */
export const continuationsArePublished: Rule = (sources) => [
  ...calls(sources, SUBMIT_INPUT, "submitInput", "publishContinue"),
  ...calls(sources, RETRY_FROM, "retryFrom", "publishContinue"),
  ...publishes(sources, PUBLISH_CONTINUE, "workflow.execution.continue.requested"),
  ...loadsNoRunner(sources, SUBMIT_INPUT),
];

/** A request of `type: "trigger"` is executed by the web app's bridge alone, and not before its signature was checked. */
export const onlyTheBridgeExecutesTriggers: Rule = (sources) => {
  const from = /^@toolctrl\/workflow\/executors$|\/(?:bridge-executor|verify-bridge-request)\.ts$/;
  const takers = [BRIDGE, "packages/workflow/src/executors.ts"];
  const order = sources.factsOf(BRIDGE).calls.map(({ callee }) => callee);
  const checked = order.indexOf("verifyBridgeRequest");
  return [
    ...onlyImporters(sources, "bridgeRequestSchema", from, takers),
    ...onlyImporters(sources, "verifyBridgeRequest", from, takers),
    ...sources.product
      .filter((path) => path !== BRIDGE_EXECUTOR && namesTrigger(sources, path))
      .map((path) => `${path}: names a request of type "trigger"`),
    ...(checked >= 0 && checked < order.indexOf("runExecution")
      ? []
      : [`${BRIDGE}: expected the signature to be checked before a run is executed`]),
  ];
};

/** The way to execute a run right where something happened is gone, and stays so. */
export const noEngineFacade: Rule = ({ all, textOf, factsOf }) =>
  all
    .filter((path) => textOf(path).includes("WorkflowEngine") && factsOf(path).identifiers.has("WorkflowEngine"))
    .map((path) => `${path}: names WorkflowEngine`);

function onlyImporters(sources: Sources, name: string, from: RegExp, expected: readonly string[]): string[] {
  const found = sources.importersOf(name, from);
  const others = found.filter((path) => !expected.includes(path)).map((path) => `${path}: takes ${name}`);
  // A list that names what is gone would let somebody else take its place.
  return [...others, ...expected.filter((path) => !found.includes(path)).map((path) => `${path}: expected to take ${name}`)];
}

function onlyWithin({ factsOf }: Sources, path: string, callee: string, functions: readonly string[]): string[] {
  const found = factsOf(path).calls.filter((call) => call.callee === callee);
  const outside = found.filter(({ within }) => !within.some((name) => functions.includes(name)));
  return outside.map(({ within }) => `${path}: calls ${callee} in ${within.join(".")}`);
}

function calls({ factsOf }: Sources, path: string, within: string, callee: string): string[] {
  const found = factsOf(path).calls.some((call) => call.callee === callee && call.within.includes(within));
  return found ? [] : [`${path}: expected ${within} to call ${callee}`];
}

/** An event type is published at one place, which every way to it goes through. */
function publishes({ product, factsOf }: Sources, path: string, type: string): string[] {
  const places = product.filter((each) => factsOf(each).calls.some((call) => isPublish(call) && textAt(call, "type") === type));
  if (places.join() === path) return [];
  return [`${type}: expected to be published by ${path} alone, got ${places.join(", ") || "nobody"}`];
}

function isPublish({ callee }: Call): boolean {
  return callee === "publishOutboxEvent";
}

function loadsNoRunner({ closureOf }: Sources, path: string): string[] {
  const loaded = closureOf(path);
  return [RUN_EXECUTION, TAKE_TURN].filter((each) => loaded.includes(each)).map((each) => `${path}: loads ${each}`);
}

/** Whoever says that a person or the API starts a run, says so to `run`. */
function startsOnlyThroughRun({ product, factsOf }: Sources): string[] {
  return product.flatMap((path) =>
    factsOf(path)
      .calls.filter((call) => ["person", "api"].includes(textAt(call, "startedBy") ?? "") && !call.callee.endsWith(".run"))
      .map(({ callee }) => `${path}: starts a run with ${callee}`),
  );
}

function namesTrigger({ factsOf }: Sources, path: string): boolean {
  return factsOf(path).calls.some(
    (call) =>
      textAt(call, "type") === "trigger" ||
      (call.callee === "z.literal" && call.args.some((arg) => arg.type === "Literal" && arg.value === "trigger")),
  );
}

/** The text of a property of an object that a call is given, wherever in it that stands. */
function textAt({ args }: Call, key: string): string | null {
  for (const arg of args) {
    const object = arg.type === "TSSatisfiesExpression" || arg.type === "TSAsExpression" ? arg.expression : arg;
    if (object.type !== "ObjectExpression") continue;
    for (const property of object.properties) {
      if (property.type === "Property" && nameOf(property.key) === key) return textOf(property.value);
    }
  }
  return null;
}

function textOf(node: Node): string | null {
  return node.type === "Literal" && typeof node.value === "string" ? node.value : null;
}
