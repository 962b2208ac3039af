export { createDrainerSwitch, type DrainerSwitch, type DrainerSwitchDeps, type SwitchSettings } from "./switch/drainer-switch.ts";
export type { Drainer, DrainerFactories } from "./switch/drainer-slot.ts";
export { createShadow, type Shadow } from "./switch/shadow.ts";
export { createClosedGate, type RolloutGate } from "./switch/rollout-gate.ts";
export { createConditionCheck, type ConditionCheck, type ConditionReport } from "./switch/check-conditions.ts";
export { createStartConditions, type ConditionAnswer, type StartCondition } from "./switch/start-conditions.ts";
