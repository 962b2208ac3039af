import type { Queryable } from "@toolctrl/db/sql";
import type { ExecutorKind } from "../executors/executor.ts";
import { findCandidates, type TriggeredWorkflow } from "./find-candidates.ts";
import { preflight, type Candidate, type Preflight } from "./preflight.ts";
import type { TriggerEvent } from "./trigger-event.ts";

/** The port between an event and the runs that it makes: which live workflows it may start, and whether each of them may run. */
export interface TriggerStore {
  /** The live workflows of the event's tenant whose trigger it fits, in the order in which they were made. */
  findCandidates(db: Queryable, event: TriggerEvent): Promise<TriggeredWorkflow[]>;
  /** Judges one of them, by what it is alone: nothing is read. */
  preflight(candidate: Candidate): Preflight;
}

/** Over the product's tables. @param executor who would run a candidate: what he cannot do is rejected before it begins */
export function createTriggerStore(executor: ExecutorKind): TriggerStore {
  return { findCandidates, preflight: (candidate) => preflight(candidate, executor) };
}
