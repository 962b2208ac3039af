import type { Delivery } from "@toolctrl/consumer/define";
import { callUnderIntent, type CallDeps, type CallTerms, type Verdict } from "@toolctrl/consumer/external-call";
import type { Intent } from "@toolctrl/consumer/intents";
import { beginContactCall, settleContactCall, type ContactCallEnd } from "@toolctrl/domain/marketing";
import { assertNever } from "@toolctrl/foundation/errors";
import { contactRequest, type MarketingProvider } from "./contact-request.ts";
import { providerIdOf } from "./provider-id.ts";

export const MARKETING_SYNC = "marketing-sync";

export const MARKETING_TERMS = {
  consumer: MARKETING_SYNC,
  peer: "provider",
  codes: { gone: "MARKETING.GONE", rejected: "MARKETING.REJECTED", failed: "MARKETING.FAILED", unknown: "MARKETING.OUTCOME_UNKNOWN" },
  // Too slow to be read, still at the same key, too early: each says "again", none says "never".
  retriedStatuses: [408, 409, 425],
} as const satisfies CallTerms;

/** One try at telling the provider of the contact that the intent names; whatever comes of it is written to intent and contact. */
export function tellProvider(delivery: Delivery, intent: Intent, provider: MarketingProvider, deps: CallDeps): Promise<void> {
  const { tenantId, eventId } = delivery;
  const key = { tenantId, eventId, contactId: intent.target, intentId: intent.id };
  return callUnderIntent(
    delivery,
    intent,
    {
      terms: MARKETING_TERMS,
      async prepare(tx) {
        const call = await beginContactCall(tx, key, deps);
        switch (call.kind) {
          case "call":
            return contactRequest(provider, { ...call, key: intent.externalId });
          case "later":
            return call;
          case "overtaken":
          case "nothing":
            return { kind: "needless" };
          default:
            return assertNever(call);
        }
      },
      onSettle: (tx, verdict) => settleContactCall(tx, key, endOf(verdict)),
      onLost: (tx, verdict) => settleContactCall(tx, key, { kind: "lost", reached: endOf(verdict).kind !== "refused" }),
    },
    deps,
  );
}

function endOf(verdict: Verdict): ContactCallEnd {
  switch (verdict.kind) {
    case "accepted":
      return { kind: "told", providerId: providerIdOf(verdict.answer) };
    case "gone":
      return { kind: "told", providerId: null };
    case "permanent":
      return { kind: "refused" };
    case "retry":
      return { kind: verdict.unknown ? "unknown" : "refused" };
    default:
      return assertNever(verdict);
  }
}
