import type { JsonObject } from "@toolctrl/foundation/json";

/** What a person said about marketing. `unknown`: nothing, which is no yes. */
export type Consent = "granted" | "denied" | "unknown";

/** What the provider is told of a person, and nothing between the two. */
export type ProviderStatus = "subscribed" | "unsubscribed";

/** A contact as its row says, read under the row's lock. */
export interface MarketingContact {
  readonly id: string;
  readonly tenantId: string;
  readonly email: string;
  readonly name: string | null;
  readonly attributes: JsonObject;
  /** Of the upsert that name and attributes are of; null before the first one. */
  readonly appliedPosition: bigint | null;
  readonly consent: Consent;
  readonly consentAt: Date | null;
  readonly consentSource: string | null;
  /** Of the event that the consent is of; null while it is unknown. */
  readonly consentPosition: bigint | null;
  /** Grows with each change, so that the provider can tell an older call from a newer one. */
  readonly revision: bigint;
  /** The event that owes the provider the contact as it is now; null when nothing is owed. */
  readonly owedBy: string | null;
  /** Of the last call: the intent it was made under, what it said, and for how long (ms) it may still be running. */
  readonly callIntentId: string | null;
  readonly toldStatus: ProviderStatus | null;
  readonly callMs: number;
}
