export { createDrainerSwitch, type DrainerSwitch, type DrainerSwitchDeps, type SwitchSettings } from "./switch/drainer-switch.ts";
export type { Drainer, DrainerFactories } from "./switch/drainer-slot.ts";
export { readModeState, type ModeState } from "./switch/move-mode.ts";
export { createShadow, type Shadow } from "./switch/shadow.ts";
export {
  askConditions,
  createConditionCheck,
  type CheckedCondition,
  type ConditionCheck,
  type ConditionReport,
} from "./switch/check-conditions.ts";
export type { ConditionAnswer, Reason, StartCondition } from "./switch/start-conditions.ts";
