import type { ConditionAnswer, Reason, StartCondition } from "@toolctrl/outbox-drainer/switch";
import { redFor } from "./answers.ts";

/**
 * A condition on a setting of the queue's server. An outage is no answer: what the server said last stands, so that the mode does not
 * change because it was away. One that may not be asked is unknown, which is said and holds nothing back: a hosted server never answers.
 */
export function createRedisCondition<Known extends { readonly kind: "known" }>(condition: {
  readonly name: string;
  ask(): Promise<Known | { readonly kind: "unknown"; readonly why: string }>;
  judge(known: Known): Reason | null;
  /** What a person has to look up instead. */
  readonly byHand: string;
}): StartCondition {
  const { name, byHand } = condition;
  let last: ConditionAnswer | null = null;
  return {
    name,
    async check() {
      const told = await condition.ask();
      if (told.kind === "unknown") {
        return last ?? { state: "unknown", reasons: [{ why: `the ${name} of Redis is unknown (${told.why})`, fix: byHand }] };
      }
      const reason = condition.judge(told);
      last = redFor(reason === null ? [] : [reason]);
      return last;
    },
  };
}
