import type { CONSUMERS, ConsumerName } from "@toolctrl/foundation/consumers";
import type { QueueName } from "@toolctrl/foundation/queues";

/** What a consumer does to the world outside of its job. */
export type EffectKind = "database" | "mail" | "webhook" | "connector" | "provider" | "steps";

/** What keeps a second delivery from becoming a second effect. */
export type Protection =
  | "transactional-receipt"
  | "idempotency-claim"
  | "natural-key"
  | "deterministic-set"
  | "provider-key"
  | "recorded-steps";

/** Out of scope: nothing proves the consumer safe yet, and its routes are held while pull workers drain. */
export interface OutOfScope {
  readonly in: false;
  readonly reason: string;
  /** The day it was left out, `YYYY-MM-DD`. */
  readonly since: `${number}-${number}-${number}`;
}

/** The tests that prove something: their file, from the root of the repository, the `describe` in it, and each test by its name. */
export interface NamedTests {
  readonly file: string;
  readonly suite: string;
  readonly tests: readonly string[];
}

/** A consumer: what it does, where its code begins, from the root of the repository, and the tests that prove one effect. */
export interface ConsumerMapEntry<Name extends ConsumerName = ConsumerName> {
  /** The queue it reads; `database` for an after-save effect. */
  readonly queue: (typeof CONSUMERS)[Name];
  /** The event prefixes whose routes name it. */
  readonly prefixes: readonly string[];
  /** What is different in the world when it has run, in a phrase. */
  readonly does: string;
  readonly effect: EffectKind;
  readonly protection: Protection;
  readonly source: string;
  readonly evidence: NamedTests;
  readonly scope: { readonly in: true } | OutOfScope;
}

export type ConsumerMap = { readonly [Name in ConsumerName]: ConsumerMapEntry<Name> };

type QueueWithEvents = (typeof CONSUMERS)[ConsumerName];

/** The queues whose jobs come from no event, and so from no consumer, each with why a second run does no harm. */
export type QueuesWithoutEvents = {
  readonly [Q in Exclude<QueueName, QueueWithEvents>]: { readonly does: string; readonly reason: string };
};
