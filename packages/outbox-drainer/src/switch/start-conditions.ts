import type { Queryable } from "@toolctrl/db/sql";
import { recordKeyReady } from "@toolctrl/db/record-key";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { RolloutGate } from "./rollout-gate.ts";

/** `unknown` holds nothing back, but is said. */
export interface ConditionAnswer {
  readonly state: "green" | "red" | "unknown";
  /** Whole phrases for a person; none when green. */
  readonly reasons: readonly string[];
}

/** Something that must hold in a process before it may run pull workers. */
export interface StartCondition {
  readonly name: string;
  check(): Promise<ConditionAnswer>;
}

const GREEN: ConditionAnswer = { state: "green", reasons: [] };

/** What must hold before pull workers may run: the record keys are there, the gate is green, the queue's Redis drops nothing. */
export function createStartConditions(deps: {
  db: Queryable;
  gate: RolloutGate;
  backend: Pick<QueueBackend, "evictionPolicy">;
}): StartCondition[] {
  return [
    { name: "record keys", check: () => checkRecordKeys(deps.db) },
    { name: "rollout gate", check: () => checkGate(deps.gate) },
    { name: "eviction policy", check: createEvictionCheck(deps.backend) },
  ];
}

async function checkRecordKeys(db: Queryable): Promise<ConditionAnswer> {
  const { column, validated, indexes } = await recordKeyReady(db);
  if (!column) return { state: "red", reasons: [`the live "OutboxEvent" has no "recordKey": run the migrations`] };
  const reasons = [
    ...(validated ? [] : [`"recordKey" is not backfilled: run \`toolctrl-cli outbox backfill-record-key\``]),
    ...(indexes ? [] : [`an index of record lines is missing or invalid: run \`toolctrl-cli db migrate\``]),
  ];
  return reasons.length === 0 ? GREEN : { state: "red", reasons };
}

async function checkGate(gate: RolloutGate): Promise<ConditionAnswer> {
  const { green, reasons } = await gate.check();
  if (green) return GREEN;
  return { state: "red", reasons: reasons.length > 0 ? reasons : ["the rollout gate is red and gave no reason"] };
}

/** An outage is no answer: what the server said last stands, so that the mode does not change because Redis was away. */
function createEvictionCheck(backend: Pick<QueueBackend, "evictionPolicy">): () => Promise<ConditionAnswer> {
  let last: ConditionAnswer | undefined;
  return async () => {
    const answer = await backend.evictionPolicy();
    if (answer.kind === "unknown") return last ?? { state: "unknown", reasons: [`the eviction policy of Redis is unknown: ${answer.why}`] };
    const { policy } = answer;
    const harmless = policy === null || policy === "noeviction";
    last = harmless ? GREEN : { state: "red", reasons: [`expected maxmemory-policy noeviction in Redis, got ${policy}: it can drop jobs`] };
    return last;
  };
}
