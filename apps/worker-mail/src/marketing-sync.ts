import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { concludeIntents, isOpen, reopenFailures, type CallDeps } from "@toolctrl/consumer/external-call";
import { lockSnooze } from "@toolctrl/consumer/lock-snooze";
import { listIntents, type Intent } from "@toolctrl/consumer/intents";
import { transaction } from "@toolctrl/db/client";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { MarketingProvider } from "./marketing/contact-request.ts";
import { keepContact } from "./marketing/keep-contact.ts";
import { MARKETING_SYNC, MARKETING_TERMS, tellProvider } from "./marketing/tell-provider.ts";

export interface MarketingSyncDeps extends CallDeps {
  /** Null keeps contacts and tells nobody. */
  readonly provider: MarketingProvider | null;
  readonly concurrency: number;
}

/**
 * Keeps the marketing contact of an event's address, and tells the provider of it by an HTTP call of its own.
 *
 * Contact and intent are written in one transaction; the request is made from the contact in the transaction that begins the call. An event
 * that a younger one has overtaken tells nothing, and of one contact one call runs at a time: the provider ends with the newest state.
 */
export function createMarketingSync(deps: MarketingSyncDeps): NamedConsumer<typeof MARKETING_SYNC> {
  return {
    name: MARKETING_SYNC,
    queue: "outbox.marketing",
    concurrency: deps.concurrency,
    async handle(delivery) {
      try {
        return await syncContact(delivery, deps);
      } catch (error) {
        const snooze = lockSnooze(error);
        if (snooze === null) throw error;
        return snooze;
      }
    },
  };
}

async function syncContact(delivery: Delivery, deps: MarketingSyncDeps): Promise<JobOutcome> {
  const { provider } = deps;
  const intent = await transaction(deps.pool, (tx) => keepContact(tx, delivery, { tells: provider !== null }));
  if (provider === null) return { kind: "done", result: { provider: "none" } };
  if (intent === null) return { kind: "done", result: { provider: "nothing to tell" } };
  const [reopened] = (await reopenFailures(delivery, [intent], MARKETING_TERMS, deps)) ? await intentsOf(delivery, deps) : [];
  const due = reopened ?? intent;
  if (isOpen(due) && due.waitMs <= 0) await tellProvider(delivery, due, provider, deps);
  const intents = await intentsOf(delivery, deps);
  const outcome = concludeIntents(intents, MARKETING_TERMS, deps);
  if (outcome.kind !== "done") return outcome;
  return { kind: "done", result: { provider: intents.some(({ attempts }) => attempts > 0) ? "told" : "nothing to tell" } };
}

function intentsOf({ eventId, tenantId, effectEpoch }: Delivery, deps: MarketingSyncDeps): Promise<Intent[]> {
  return listIntents(deps.pool, { eventId, tenantId, effectEpoch, consumer: MARKETING_SYNC });
}
