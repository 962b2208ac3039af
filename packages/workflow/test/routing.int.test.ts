import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { expect, test } from "vitest";
import { manual, note, notesOf, openBench } from "./support.ts";

type Edges = WorkflowDefinitionInput["edges"];

const cases = [
  { name: "text", equals: "20" },
  { name: "nothing", equals: null },
];
const BRANCHES: Edges = [
  { from: "route", branch: "text", to: "text" },
  { from: "route", branch: "nothing", to: "nothing" },
  { from: "text", to: null },
  { from: "nothing", to: null },
];

function routed(value: string, extra: { edges?: Edges; nodes?: WorkflowDefinitionInput["nodes"] } = {}): WorkflowDefinitionInput {
  const route = { id: "route", block: "switch" as const, config: { value, cases } };
  return manual([route, note("text"), note("nothing"), ...(extra.nodes ?? [])], [...BRANCHES, ...(extra.edges ?? [])]);
}

test.each([
  { what: "a number that a case writes as text", value: "20", step: "text" },
  { what: "the same text", value: `"20"`, step: "text" },
  { what: "null", value: "null", step: "nothing" },
  { what: "a path that is not there", value: "trigger.no.such.path", step: "nothing" },
])("$what goes to its case", async ({ value, step }) => {
  const bench = await openBench();
  const key = await bench.start(await bench.add(routed(value)));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect(await notesOf(bench)).toEqual({ [step]: 1 });
});

test("a value that no case matches goes to the default", async () => {
  const bench = await openBench();
  const other = {
    nodes: [note("other")],
    edges: [
      { from: "route", branch: "default", to: "other" },
      { from: "other", to: null },
    ],
  };
  const key = await bench.start(await bench.add(routed("21", other)));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect(await notesOf(bench)).toEqual({ other: 1 });
});

test("without a default the run ends well, and its trace says that nothing matched", async () => {
  const bench = await openBench();
  const key = await bench.start(await bench.add(routed("21")));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect((await bench.view(key)).steps).toMatchObject([
    { nodeId: "route", status: "done", branch: "default", output: { value: 21, case: null } },
    { nodeId: "text", status: "skipped" },
    { nodeId: "nothing", status: "skipped" },
  ]);
  expect(await notesOf(bench)).toEqual({});
});
