import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "@toolctrl/runtime/deadline";
import type { ConditionAnswer, Reason, StartCondition } from "./start-conditions.ts";

export interface CheckedCondition extends ConditionAnswer {
  readonly name: string;
}

export interface ConditionReport {
  /** Why this process may not run pull workers, a phrase each; empty when it may. */
  readonly blockers: readonly string[];
  /** What could not be found out, and holds nothing back. */
  readonly notes: readonly string[];
}

const CHECK_MS = 5_000;
/** Reasons of one condition that are told; a map without evidence has one for each consumer. */
const MAX_TOLD = 5;

export type ConditionCheck = () => Promise<ConditionReport>;

/**
 * Asks every condition once, all at the same time, each within a bound: for a person.
 * @throws what the first one threw that could not be asked.
 */
export function askConditions(conditions: readonly StartCondition[]): Promise<CheckedCondition[]> {
  return Promise.all(conditions.map(async (condition) => ({ name: condition.name, ...(await ask(condition)) })));
}

/** Asks every condition again and again. One that cannot be asked stays as it answered last, and is red before that. */
export function createConditionCheck(conditions: readonly StartCondition[]): ConditionCheck {
  const last = new Map<string, ConditionAnswer>();

  async function answerOf(condition: StartCondition): Promise<CheckedCondition> {
    const { name } = condition;
    try {
      const answer = await ask(condition);
      last.set(name, answer);
      return { name, ...answer };
    } catch (error) {
      return { name, ...(last.get(name) ?? notAsked(name, error)) };
    }
  }

  return async () => {
    const checked = await Promise.all(conditions.map(answerOf));
    const told = (state: ConditionAnswer["state"]): string[] => checked.filter((each) => each.state === state).flatMap(tell);
    return { blockers: told("red"), notes: told("unknown") };
  };
}

function ask({ check }: StartCondition): Promise<ConditionAnswer> {
  return withDeadline(check(), CHECK_MS, () => new Error(`expected an answer within ${CHECK_MS} ms, got none`));
}

function notAsked(name: string, error: unknown): ConditionAnswer {
  return { state: "red", reasons: [{ why: `${name} could not be checked`, fix: describeError(error, 200) }] };
}

function tell({ name, reasons }: CheckedCondition): string[] {
  const more = reasons.length - MAX_TOLD;
  const told = reasons.slice(0, MAX_TOLD).map(phraseOf);
  return more > 0 ? [...told, `${name}: ${more} more, \`toolctrl-cli outbox gate\` lists them`] : told;
}

function phraseOf({ why, fix }: Reason): string {
  return `${why}: ${fix}`;
}
