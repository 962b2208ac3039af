import { assertNever } from "@toolctrl/foundation/errors";
import type { IntentEnd } from "../intents.ts";
import type { CallPolicy, Verdict } from "./external-call.ts";

const MAX_BACKOFF_MS = 60 * 60 * 1000;

/** What becomes of an intent whose `attempts`-th try has this verdict: tried again after a backoff, until its tries are used up. */
export function endOfTry(verdict: Verdict, attempts: number, policy: Pick<CallPolicy, "maxAttempts" | "backoffMs">): IntentEnd {
  switch (verdict.kind) {
    case "accepted":
      return { state: "sent" };
    case "gone":
    case "permanent":
      return { state: "failed", error: verdict.error };
    case "retry": {
      const { error, unknown } = verdict;
      if (attempts >= policy.maxAttempts) return { state: "failed", error, unknown };
      // Peers that fell over together must not all be called again in the same instant.
      const backoffMs = Math.min(policy.backoffMs * 2 ** (attempts - 1), MAX_BACKOFF_MS) * (1 + Math.random() / 10);
      return { state: unknown ? "unknown" : "pending", error, waitMs: Math.max(backoffMs, verdict.askedMs ?? 0) };
    }
    default:
      return assertNever(verdict);
  }
}
