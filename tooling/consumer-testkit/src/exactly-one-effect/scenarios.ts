import type { CrashPoint } from "@toolctrl/testkit/crash-suite";
import type { AnySubject } from "../subject.ts";
import { deliverAtOnce } from "./deliver-at-once.ts";
import { deliverThrice } from "./deliver-in-sequence.ts";
import type { Ground } from "./ground.ts";
import { killEverywhere } from "./kill.ts";
import { describeOutcome, problemsOf, type Outcome } from "./outcome.ts";
import { deliverUnprotected } from "./remove-protection.ts";

export interface Scenario {
  readonly name: string;
  /** Throws where there is not exactly one effect; returns what came of it, in a line. */
  play(ground: Ground, subject: AnySubject): Promise<string>;
}

/** So few crash points would say that the process was not counted from where its work begins. */
const LEAST_CRASH_POINTS = 8;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "delivered twice in sequence, and once more when the first delivery is forgotten",
    play: async (ground, subject) => judge(subject, await deliverThrice(ground, subject), 2),
  },
  {
    name: "delivered twice at once: only one of them has its effect, and no attempt is used",
    play: async (ground, subject) => judge(subject, await deliverAtOnce(ground, subject), 1),
  },
  {
    name: "killed after each of its outside calls, and inside its handler",
    play: async (ground, subject) => judgeDeaths(subject, await killEverywhere(ground, subject)),
  },
  {
    name: "without its protection there are two effects, and they are seen",
    play: async (ground, subject) => judgeUnprotected(subject, await deliverUnprotected(ground, subject)),
  },
];

function judge(subject: AnySubject, outcome: Outcome, suppressed: number): string {
  const problems = problemsOf(outcome, subject.name, { suppressed });
  if (problems.length > 0) throw new Error(`${problems.join("; ")} (${describeOutcome(outcome)})`);
  return describeOutcome(outcome);
}

function judgeDeaths(subject: AnySubject, points: readonly CrashPoint[]): string {
  const calls = points.map(({ call }) => call);
  if (points.length < LEAST_CRASH_POINTS)
    throw new Error(`expected ${LEAST_CRASH_POINTS} crash points at least, got ${points.length}: ${calls.join("; ")}`);
  for (const label of Object.keys(subject.peers?.() ?? {})) {
    if (!calls.some((call) => call.startsWith(`${label}: `)))
      throw new Error(`expected a crash point among its calls to ${label}, got: ${calls.join("; ")}`);
  }
  return `${points.length} crash points`;
}

function judgeUnprotected(subject: AnySubject, outcome: Outcome): string {
  const effects = outcome.calls?.length ?? outcome.effects;
  if (effects === 2) return describeOutcome(outcome);
  const without = subject.removeProtection === undefined ? "no claim and no receipt" : "no claim, no receipt and nothing else";
  throw new Error(
    `the suite cannot see a missing protection: with ${without} to guard it, two deliveries should have had 2 effects, got ${effects} (${describeOutcome(outcome)})`,
  );
}
