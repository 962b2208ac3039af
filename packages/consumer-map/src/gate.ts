export { createRolloutGate, type GateDeps, type RolloutGate } from "./gate/rollout-gate.ts";
export { createEvictionCondition } from "./gate/eviction-condition.ts";
export { createMapCondition } from "./gate/map-condition.ts";
export { createPersistenceCondition } from "./gate/persistence-condition.ts";
export { createRecordKeyCondition } from "./gate/record-key-condition.ts";
export { createResultTtlCondition } from "./gate/result-ttl-condition.ts";
export { createSchemaCondition } from "./gate/schema-condition.ts";
