export { findIntent, insertIntent, insertIntents, listIntents } from "./intents/ensure-intent.ts";
export { externalIdOf, type Intent, type IntentKey, type IntentState } from "./intents/intent.ts";
export {
  abandonIntent,
  beginIntent,
  endIntent,
  holdIntent,
  intentLost,
  postponeIntent,
  settleIntentUncalled,
  type IntentEnd,
} from "./intents/move-intent.ts";
export { reopenRequeued } from "./intents/reopen-requeued.ts";
