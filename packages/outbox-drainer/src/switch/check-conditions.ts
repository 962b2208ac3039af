import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "@toolctrl/runtime/deadline";
import type { ConditionAnswer, StartCondition } from "./start-conditions.ts";

export interface ConditionReport {
  /** Why this process may not run pull workers, a phrase each; empty when it may. */
  readonly blockers: readonly string[];
  /** What could not be found out, and holds nothing back. */
  readonly notes: readonly string[];
}

const CHECK_MS = 5_000;

export type ConditionCheck = () => Promise<ConditionReport>;

/** Asks every condition at once, each within a bound. One that cannot be asked stays as it answered last, and is red before that. */
export function createConditionCheck(conditions: readonly StartCondition[]): ConditionCheck {
  const last = new Map<string, ConditionAnswer>();

  async function ask({ name, check }: StartCondition): Promise<ConditionAnswer> {
    try {
      const late = (): Error => new Error(`expected an answer within ${CHECK_MS} ms, got none`);
      const answer = await withDeadline(check(), CHECK_MS, late);
      last.set(name, answer);
      return answer;
    } catch (error) {
      return last.get(name) ?? { state: "red", reasons: [`${name} could not be checked: ${describeError(error, 200)}`] };
    }
  }

  return async () => {
    const answers = await Promise.all(conditions.map(ask));
    const reasonsOf = (state: ConditionAnswer["state"]): string[] =>
      answers.filter((answer) => answer.state === state).flatMap((answer) => [...answer.reasons]);
    return { blockers: reasonsOf("red"), notes: reasonsOf("unknown") };
  };
}
