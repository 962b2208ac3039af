/** From an event to the runs that it starts. */
export { fanOutTrigger, type TriggerSummary } from "./triggers/fan-out-trigger.ts";
export type { TriggerEvent } from "./triggers/trigger-event.ts";
export { createTriggerStore, type TriggerStore } from "./triggers/trigger-store.ts";
