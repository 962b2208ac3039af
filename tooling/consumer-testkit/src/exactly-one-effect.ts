import type { ConsumerMapEntry } from "@toolctrl/consumer-map/map";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openGround, type Ground } from "./exactly-one-effect/ground.ts";
import { SCENARIOS } from "./exactly-one-effect/scenarios.ts";
import type { AnySubject } from "./subject.ts";

export type { AfterSaveSubject, Peer, Subject } from "./subject.ts";

/** What is asked of the entry in the consumer map. */
export type EffectEntry = Pick<ConsumerMapEntry, "effect">;

/** The suite of one consumer: exactly one effect, however its event is delivered; and two of them when nothing protects it. */
export function describeExactlyOneEffect(entry: EffectEntry, subject: AnySubject): void {
  describe(`exactly one effect: ${subject.name}`, () => {
    let ground: Ground;
    beforeAll(async () => {
      assertTellsItsCalls(entry, subject);
      ground = await openGround();
    });
    afterAll(() => ground?.close());
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
  /** What came of the event, in a line; empty where there is a problem. */
  readonly outcome: string;
}

/**
 * Plays everything that can happen to a delivery, on servers of its own, and throws unless there was exactly one effect each time (and two
 * when the protection was taken away: otherwise the others would prove nothing). For a test within testkit's global setup.
 * @returns how each scenario went
 * @throws Error with the same of all of them
 */
export async function expectExactlyOneEffect(entry: EffectEntry, subject: AnySubject): Promise<ScenarioReport[]> {
  assertTellsItsCalls(entry, subject);
  const ground = await openGround();
  const reports: ScenarioReport[] = [];
  try {
    for (const { name: scenario, play } of SCENARIOS) {
      const report = await play(ground, subject).then(
        (outcome) => ({ scenario, problem: null, outcome }),
        (error: unknown) => ({ scenario, problem: error instanceof Error ? error.message : String(error), outcome: "" }),
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

/** One scenario after the other, as a person reads it. */
export function printReports(reports: readonly ScenarioReport[]): string {
  return reports
    .map(({ scenario, problem, outcome }) => `${problem === null ? "ok    " : "FAILED"} ${scenario}\n       ${problem ?? outcome}`)
    .join("\n");
}

function assertTellsItsCalls({ effect }: EffectEntry, subject: AnySubject): void {
  if (effect === "database" || subject.calls !== undefined) return;
  throw new TypeError(`expected the subject of ${subject.name}, whose effect is of kind "${effect}", to tell the ids of its calls`);
}
