import type { PlannedRequeue } from "@toolctrl/outbox-drainer/actions";
import type { Io } from "../io.ts";

/** Says, before anything is changed, what a person could be surprised by. On the error output. */
export function warnOfPlan(io: Io, plan: readonly PlannedRequeue[], replayConsumer: string | null): void {
  for (const event of plan) {
    if (event.outcome !== "would-requeue") continue;
    const say = (text: string): void => void io.err.write(`warning: ${event.id} (${event.eventType}): ${text}\n`);
    if (!event.routable) say("this version has no routing rule for it: a worker of this version fails it, one that has a rule sends it");
    if (event.mayFollowYoungerOf !== null)
      say(`it can follow younger events of ${event.mayFollowYoungerOf}; only a parked event keeps its place`);
    if (replayConsumer !== null) say(`${replayConsumer} repeats its effect`);
    if (event.suppressed.length > 0) say(`${event.suppressed.join(", ")} has a receipt and stays suppressed`);
    if (event.suppressed.length > 0 && event.willRun.length === 0)
      say("no consumer will run; --replay --consumer <name> repeats an effect on purpose");
  }
}
