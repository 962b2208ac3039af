export { insertIntent, insertIntents, listIntents } from "./intents/ensure-intent.ts";
export type { Intent, IntentKey, IntentState } from "./intents/intent.ts";
export {
  abandonIntent,
  beginIntent,
  endIntent,
  intentLost,
  reopenIntent,
  settleIntentUncalled,
  type IntentEnd,
} from "./intents/move-intent.ts";
