/** One HTTP call that cannot be taken back, under its intent: begun by compare-and-set, judged, settled, tried again, concluded. */
export { callUnderIntent } from "./external-call/call-under-intent.ts";
export { endOfTry } from "./external-call/end-of-try.ts";
export { concludeIntents, isFailure, isOpen } from "./external-call/conclude-intents.ts";
export type {
  CallAnswer,
  CallDeps,
  CallPolicy,
  CallRequest,
  CallTerms,
  ExternalCall,
  Uncalled,
  Verdict,
} from "./external-call/external-call.ts";
export { judgeAnswer, judgeError } from "./external-call/judge-answer.ts";
export { reopenFailures } from "./external-call/reopen-failures.ts";
export { runBounded } from "./external-call/run-bounded.ts";
