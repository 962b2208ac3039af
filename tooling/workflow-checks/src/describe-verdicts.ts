import type { Verdict } from "./judge-report.ts";

/** Topic by topic, for a person: what was proven, by the names of the tests, and what was not, and why. */
export function describeVerdicts(verdicts: readonly Verdict[]): string {
  const parts = verdicts.map(({ topic, proven, problems }) =>
    [
      `${problems.length === 0 ? "proven" : "NOT PROVEN"}: ${topic} (${proven.length} tests)`,
      ...proven.map((name) => `  ✓ ${name}`),
      ...problems.map((problem) => `  ✗ ${problem}`),
    ].join("\n"),
  );
  const missing = verdicts.filter(({ problems }) => problems.length > 0).map(({ topic }) => topic);
  const end = missing.length === 0 ? `all ${verdicts.length} topics are proven` : `not proven: ${missing.join(", ")}`;
  return [...parts, end].join("\n\n");
}
