import { relative } from "node:path";
import { z } from "zod";
import type { Evidence, Topic } from "./topics.ts";

/** What is read of vitest's JSON report. */
const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(""),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

export type Report = z.input<typeof reportSchema>;
type FileResult = z.output<typeof reportSchema>["testResults"][number];

export interface Verdict {
  readonly topic: string;
  /** The names of the tests that passed. */
  readonly proven: readonly string[];
  /** Why it is not proven; none when it is. */
  readonly problems: readonly string[];
}

/**
 * What a run of the tests says of each topic: proven when each of its files has a test for it, and none of those failed or was left out.
 * @param root what the files of the topics are relative to
 */
export function judgeReport(input: unknown, topics: readonly Topic[], root: string): Verdict[] {
  const files = new Map(reportSchema.parse(input).testResults.map((file) => [relative(root, file.name), file]));
  return topics.map(({ name, evidence }) => {
    const judged = evidence.map((each) => judgeEvidence(each, files.get(each.file)));
    return { topic: name, proven: judged.flatMap(({ proven }) => proven), problems: judged.flatMap(({ problems }) => problems) };
  });
}

function judgeEvidence({ file, named }: Evidence, result: FileResult | undefined): Omit<Verdict, "topic"> {
  const tests = (result?.assertionResults ?? []).filter(({ fullName }) => named === undefined || named.test(fullName));
  if (result === undefined || tests.length === 0)
    return { proven: [], problems: [`${file}: expected a test of it, got none${reasonOf(result)}`] };
  const passed = tests.filter(({ status }) => status === "passed");
  const others = tests.filter(({ status }) => status !== "passed").map(({ fullName, status }) => `${file}: ${fullName}: ${wordOf(status)}`);
  // A hook that failed, or an error that no test caught; a test of another topic is that one's matter.
  const inNoTest = result.status !== "passed" && result.assertionResults.every(({ status }) => status !== "failed");
  const broken = inNoTest && others.length === 0 ? [`${file}: failed as a whole${reasonOf(result)}`] : [];
  return { proven: passed.map(({ fullName }) => fullName), problems: [...others, ...broken] };
}

function wordOf(status: string): string {
  return status === "failed" ? "failed" : "was not run";
}

function reasonOf(result: FileResult | undefined): string {
  const [line = ""] = (result?.message ?? "").split("\n");
  return line === "" ? "" : `: ${line}`;
}
