import { CodedError } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { Intent } from "../intents.ts";
import type { CallPolicy, CallTerms } from "./external-call.ts";

/**
 * What becomes of a job whose calls have these intents: it waits (using no attempt) for the first that is due again, is dead when one has
 * failed for good, and is done otherwise.
 */
export function concludeIntents(
  intents: readonly Intent[],
  { peer, codes }: Pick<CallTerms, "peer" | "codes">,
  { deadlineMs }: Pick<CallPolicy, "deadlineMs">,
): JobOutcome {
  const waits = intents
    .filter(isOpen)
    .map((intent) => (intent.state === "sending" ? deadlineMs - (intent.sendingForMs ?? 0) : intent.waitMs));
  // A millisecond more than the wait: the queue's clock may round down.
  if (waits.length > 0) return { kind: "snooze", untilMs: Date.now() + Math.max(50, Math.ceil(Math.min(...waits)) + 1) };
  const failures = intents.filter((intent) => isFailure(intent, codes));
  if (failures.length === 0)
    return { kind: "done", result: { delivered: intents.filter(({ state }) => state === "sent").length, [`${peer}s`]: intents.length } };
  const list = failures.map(({ target, attempts, lastErrorCode, lastError }) =>
    `${target} after ${attempts} tries: ${lastErrorCode ?? ""} ${lastError ?? ""}`.trim(),
  );
  const why = `expected every ${peer} to accept the delivery, got ${failures.length} of ${intents.length} failed for good: ${list.join("; ")}`;
  const facts = { failed: failures.map(({ target }) => target), [`${peer}s`]: intents.length };
  return { kind: "cancel", error: new CodedError(codes.rejected, why, { facts }) };
}

/** Not settled yet: due now or later, or in flight. */
export function isOpen(intent: Pick<Intent, "state">): boolean {
  return intent.state === "pending" || intent.state === "unknown" || intent.state === "sending";
}

/** Failed for good. A peer that is gone is no failure of the event's. */
export function isFailure(intent: Pick<Intent, "state" | "lastErrorCode">, codes: Pick<CallTerms["codes"], "gone">): boolean {
  return intent.state === "failed" && intent.lastErrorCode !== codes.gone;
}
