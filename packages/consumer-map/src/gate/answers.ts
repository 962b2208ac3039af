import type { ConditionAnswer, Reason } from "@toolctrl/outbox-drainer/switch";

const GREEN: ConditionAnswer = { state: "green", reasons: [] };

/** Red with these reasons; green without any. */
export function redFor(reasons: readonly Reason[]): ConditionAnswer {
  return reasons.length === 0 ? GREEN : { state: "red", reasons };
}
