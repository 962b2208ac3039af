import type { CONSUMERS, ConsumerName, ConsumerOf } from "@toolctrl/foundation/consumers";
import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { QueueGroup, QueueName } from "@toolctrl/foundation/queues";
import type { JobOutcome } from "@toolctrl/queue/port";

/** One delivery of an event to a consumer. */
export interface Delivery<Payload = JsonValue> {
  readonly eventId: string;
  readonly tenantId: string;
  readonly type: string;
  readonly payload: Payload;
  /** The epoch of this consumer's effect: part of its key, Message-ID and webhook-id. */
  readonly effectEpoch: number;
  readonly envelope: JobEnvelope;
  /** How this delivery came, for retry policies of the consumer's own. */
  readonly failures: number;
  readonly maxAttempts: number;
  readonly signal: AbortSignal;
}

/** A job that will not run again by itself. */
export interface DeadDelivery extends Pick<Delivery, "eventId" | "tenantId" | "effectEpoch" | "envelope"> {
  readonly error: Error;
}

/**
 * A named handler of one queue.
 *
 * `handle` runs under this consumer's idempotency claim and at most one delivery at a time; when it answers `done`, the receipt is
 * recorded. A thrown error is a `retry`, unless it is a CodedError that says a retry cannot help: that is a `cancel`.
 */
export interface Consumer {
  readonly name: string;
  readonly queue: QueueName;
  readonly concurrency: number;
  /** False for a consumer that works from its own rows: a payload that travels by reference is then not read, and `payload` is null. */
  readonly needsPayload?: boolean;
  handle(delivery: Delivery): Promise<JobOutcome>;
  /**
   * Called instead of `handle` when the receipt is there, or when the event is a probe: passes the event on to the consumer behind this one, if there is one.
   * `payload` is null when it travels by reference.
   */
  passOn?(delivery: Delivery): Promise<void>;
  /**
   * Called when a job is dead, after its receipt: writes down what else the consumer keeps of it. What it throws is logged, and changes nothing.
   */
  onDead?(dead: DeadDelivery): Promise<void>;
}

/** A consumer of the product's own table: its name, on the queue that the table gives it. */
export type NamedConsumer<Name extends ConsumerName> = Consumer & { readonly name: Name; readonly queue: (typeof CONSUMERS)[Name] };

/** Exactly the consumers that the worker app of a group has to run: one left out, or one too many, does not compile. */
export type ConsumersOf<Group extends QueueGroup> = { readonly [Name in ConsumerOf<Group>]: NamedConsumer<Name> };
