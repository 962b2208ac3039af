import type { CrashPoint } from "@toolctrl/testkit/crash-suite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { thriceInSequence, twiceAtOnce } from "./exactly-one-effect/deliver-twice.ts";
import { openGround, type Ground } from "./exactly-one-effect/ground.ts";
import { killEverywhere } from "./exactly-one-effect/kill.ts";
import { describeOutcome, problemsOf, type Outcome } from "./exactly-one-effect/outcome.ts";
import { twiceUnprotected } from "./exactly-one-effect/remove-protection.ts";
import type { Subject } from "./subject.ts";

export type { Peer, Subject } from "./subject.ts";

/** What is asked of the consumer's entry in the consumer map. */
export interface EffectEntry {
  /** `database`, or the kind of other side that it calls. */
  readonly effect: string;
  readonly protection: string;
}

interface Scenario {
  readonly name: string;
  /** Throws where there is not exactly one effect; returns what came of it, in a line. */
  play(ground: Ground, subject: Subject): Promise<string>;
}

/** So few crash points would say that the process was not counted from where its work begins. */
const LEAST_CRASH_POINTS = 8;

const SCENARIOS: readonly Scenario[] = [
  {
    name: "delivered twice in sequence, and once more after its completed job is gone",
    play: async (ground, subject) => judge(subject, await thriceInSequence(ground, subject), 2),
  },
  {
    name: "delivered twice at once: the second waits for the first, and uses no attempt",
    play: async (ground, subject) => judge(subject, await twiceAtOnce(ground, subject), 1),
  },
  {
    name: "killed after each of its outside calls, and inside its handler",
    play: async (ground, subject) => judgeDeaths(subject, await killEverywhere(ground, subject)),
  },
  {
    name: "without its protection there are two effects, and they are seen",
    play: async (ground, subject) => judgeUnprotected(subject, await twiceUnprotected(ground, subject)),
  },
];

/** The suite of one consumer: exactly one effect, however its event is delivered; and two of them when nothing protects it. */
export function describeExactlyOneEffect(entry: EffectEntry, subject: Subject): void {
  describe(`exactly one effect: ${subject.name}`, () => {
    let ground: Ground;
    beforeAll(async () => {
      assertTellsItsCalls(entry, subject);
      ground = await openGround();
    });
    afterAll(() => ground.close());
    // By `%s`: `$name` would be shortened, and the consumer map names these tests.
    const scenarios = SCENARIOS.map(({ name, play }) => [name, play] as const);
    test.for(scenarios)("%s", { timeout: 300_000 }, async ([, play], { annotate }) => {
      const outcome = await play(ground, subject);
      await annotate(outcome);
      expect(outcome).not.toBe("");
    });
  });
}

/** How a scenario went. */
export interface ScenarioReport {
  readonly scenario: string;
  readonly problem: string | null;
  /** What came of the event, in a line. */
  readonly outcome: string;
}

/**
 * Plays everything that can happen to a delivery, on servers of its own, and throws unless there was exactly one effect each time (and two
 * when the consumer's protection was taken away: otherwise the others would prove nothing). For tests of any runner that has testkit's
 * global setup.
 * @returns how each scenario went
 */
export async function expectExactlyOneEffect(subject: Subject, entry: EffectEntry): Promise<ScenarioReport[]> {
  assertTellsItsCalls(entry, subject);
  const ground = await openGround();
  const reports: ScenarioReport[] = [];
  try {
    for (const { name, play } of SCENARIOS) {
      const report = await play(ground, subject).then(
        (outcome) => ({ scenario: name, problem: null, outcome }),
        (error: unknown) => ({ scenario: name, problem: error instanceof Error ? error.message : String(error), outcome: "" }),
      );
      reports.push(report);
    }
  } finally {
    await ground.close();
  }
  if (reports.some(({ problem }) => problem !== null))
    throw new Error(`expected exactly one effect of ${subject.name}, got:\n${printReports(reports)}`);
  return reports;
}

export function printReports(reports: readonly ScenarioReport[]): string {
  return reports
    .map(
      ({ scenario, problem, outcome }) => `${problem === null ? "  ok    " : "  FAILED"}  ${scenario}\n            ${problem ?? outcome}`,
    )
    .join("\n");
}

function judge(subject: Subject, outcome: Outcome, suppressed: number): string {
  const problems = problemsOf(outcome, subject.name, { suppressed });
  if (problems.length > 0) throw new Error(`${problems.join("; ")} (${describeOutcome(outcome)})`);
  return describeOutcome(outcome);
}

function judgeDeaths(subject: Subject, points: readonly CrashPoint[]): string {
  const calls = points.map(({ call }) => call);
  if (points.length < LEAST_CRASH_POINTS)
    throw new Error(`expected ${LEAST_CRASH_POINTS} crash points at least, got ${points.length}: ${calls.join("; ")}`);
  for (const label of Object.keys(subject.peers?.() ?? {}))
    if (!calls.some((call) => call.startsWith(`${label}: `)))
      throw new Error(`expected a crash point among its calls to ${label}, got: ${calls.join("; ")}`);
  return `${points.length} crash points`;
}

function judgeUnprotected(subject: Subject, outcome: Outcome): string {
  const effects = outcome.calls?.length ?? outcome.effects;
  if (effects !== 2)
    throw new Error(
      `the suite cannot see a missing protection: with no claim, no receipt${subject.removeProtection === undefined ? "" : " and nothing else"} to guard it, two deliveries should have had 2 effects, got ${describeOutcome(outcome)}`,
    );
  return describeOutcome(outcome);
}

function assertTellsItsCalls({ effect }: EffectEntry, subject: Subject): void {
  if (effect === "database" || subject.calls !== undefined) return;
  throw new TypeError(`expected the subject of ${subject.name}, whose effect is of kind "${effect}", to tell the ids of its calls`);
}
