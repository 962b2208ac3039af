import { CodedError } from "@toolctrl/foundation/errors";
import { MAX_WORKFLOW_DEPTH } from "@toolctrl/foundation/workflows";

/** The error of what so many events have led to that it is taken for a loop. */
export function loopStopped(depth: number): CodedError {
  const why = `expected an event at most ${MAX_WORKFLOW_DEPTH - 1} events away from the first one, got ${depth}: loop stopped`;
  return new CodedError("WORKFLOW.LOOP_STOPPED", why, { facts: { depth } });
}
