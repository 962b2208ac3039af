import { expect, test } from "vitest";
import { describeVerdicts } from "../src/describe-verdicts.ts";
import { judgeReport, type Report } from "../src/judge-report.ts";
import { TOPICS, type Topic } from "../src/topics.ts";
import { sources } from "./doctored.ts";

const A = "packages/a/test/a.unit.test.ts";
const B = "packages/b/test/b.unit.test.ts";
const TOPIC: Topic = { name: "routing", evidence: [{ file: A }, { file: B, named: /goes there/ }] };

/** A report of both files, with these tests: `"name": "status"`. */
function reportOf(a: Record<string, string> | null, b: Record<string, string>, broken: { status?: string; message?: string } = {}): Report {
  const file = (name: string, tests: Record<string, string>) => ({
    name: `/checkout/${name}`,
    status: Object.values(tests).includes("failed") ? "failed" : "passed",
    assertionResults: Object.entries(tests).map(([fullName, status]) => ({ fullName, status })),
  });
  return { testResults: [...(a === null ? [] : [{ ...file(A, a), ...broken }]), file(B, b)] };
}

const WELL = { "an event goes there": "passed", "something else": "passed" };

const judge = (report: unknown) => judgeReport(report, [TOPIC], "/checkout")[0];

test("a topic is proven when each of its files has a test for it and all of those passed, and says by which", () => {
  expect(judge(reportOf({ one: "passed", two: "passed" }, WELL))).toEqual({
    topic: "routing",
    proven: ["one", "two", "an event goes there"],
    problems: [],
  });
});

test("what is not of the topic decides nothing", () => {
  for (const status of ["skipped", "failed"]) {
    expect(judge(reportOf({ one: "passed" }, { ...WELL, "something else": status }))?.problems).toEqual([]);
  }
});

test.each([
  ["has no test in one of its files", reportOf({}, WELL), `${A}: expected a test of it, got none`],
  ["has a file that is gone", reportOf(null, WELL), `${A}: expected a test of it, got none`],
  [
    "has a file that cannot be loaded",
    reportOf({}, WELL, { status: "failed", message: "Cannot find module x\n at y" }),
    `${A}: expected a test of it, got none: Cannot find module x`,
  ],
  [
    "has no test of that name any more",
    reportOf({ one: "passed" }, { "something else": "passed" }),
    `${B}: expected a test of it, got none`,
  ],
  ["has a test that was skipped", reportOf({ one: "passed", two: "skipped" }, WELL), `${A}: two: was not run`],
  ["has a test that is still to be written", reportOf({ one: "passed", two: "todo" }, WELL), `${A}: two: was not run`],
  ["has a test that was not come to", reportOf({ one: "passed", two: "pending" }, WELL), `${A}: two: was not run`],
  ["has a test that failed", reportOf({ one: "passed" }, { ...WELL, "another goes there": "failed" }), `${B}: another goes there: failed`],
  [
    "has a file that failed beside its tests",
    reportOf({ one: "passed" }, WELL, { status: "failed", message: "a lane was left open" }),
    `${A}: failed as a whole: a lane was left open`,
  ],
])("a topic that %s is not proven, and says why", (_, report, problem) => {
  expect(judge(report)?.problems).toEqual([problem]);
});

test("what is no report of vitest proves nothing", () => {
  expect(() => judge({})).toThrow("testResults");
});

test("a person is told of each topic, with the names of the tests, and of what is missing last", () => {
  const verdicts = [
    { topic: "routing", proven: ["one"], problems: [] },
    { topic: "health", proven: [], problems: ["x: expected a test of it, got none"] },
  ];
  expect(describeVerdicts(verdicts).split("\n")).toEqual([
    "proven: routing (1 tests)",
    "  ✓ one",
    "",
    "NOT PROVEN: health (0 tests)",
    "  ✗ x: expected a test of it, got none",
    "",
    "not proven: health",
  ]);
  expect(describeVerdicts(verdicts.slice(0, 1))).toContain("all 1 topics are proven");
});

test("the six topics are there, each with its evidence", () => {
  expect(TOPICS.map(({ name }) => name)).toEqual([
    "routing",
    "consumer bootstrap",
    "executor selection",
    "credential-free boundary",
    "health",
    "queued producers",
  ]);
  expect(TOPICS.filter(({ evidence }) => evidence.length === 0)).toEqual([]);
  const files = TOPICS.flatMap(({ evidence }) => evidence.map(({ file }) => file));
  expect(files.filter((file) => !sources.all.includes(file))).toEqual([]);
});
