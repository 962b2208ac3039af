/** What a claim answers. `retryAfterMs` is what is left of the other delivery's claim. */
export type ClaimAnswer =
  | { readonly kind: "claimed"; readonly token: string }
  | { readonly kind: "in-progress"; readonly retryAfterMs: number }
  | {
      readonly kind: "done";
      readonly result: unknown;
      /** Why the result itself could not be kept; `result` is then undefined, and the event is finished all the same. */
      readonly omitted?: string;
    };

/**
 * Where receipts live: the authority on whether a consumer finished an event. Bound, like the store, to tenant, consumer and epoch.
 */
export interface ReceiptAuthority {
  /** The recorded result, or null when this consumer has not finished this event. */
  find(eventId: string): Promise<{ readonly result: unknown } | null>;
  /** Records that the consumer finished; does nothing when a receipt is there. */
  record(eventId: string, result: unknown): Promise<void>;
}

declare const bound: unique symbol;

/**
 * The idempotency store as `withOutboxIdempotency` needs it: bound to one tenant, one consumer and one effect epoch, so that a key
 * can never be shared by accident. Only `createIdempotencyStore` of `@toolctrl/shared-store` makes one.
 */
export interface BoundIdempotencyStore {
  readonly [bound]: true;
  readonly consumer: string;
  readonly tenantId: string;
  /** Life of an unrenewed claim, ms. */
  readonly claimTtlMs: number;
  readonly receipts: ReceiptAuthority | undefined;
  claim(eventId: string): Promise<ClaimAnswer>;
  /** Extends an owned claim; false when it is no longer ours. */
  renew(eventId: string, token: string): Promise<boolean>;
  /**
   * Turns an owned claim into the result; false when it is no longer ours, and then nothing is written.
   * A result that cannot be stored is left out: the event counts as finished without one.
   */
  complete(eventId: string, token: string, result: unknown): Promise<boolean>;
  /**
   * Writes the result of a finished event that the store has forgotten; never over a live claim or another result.
   * False when something was there, and then nothing is written.
   */
  restore(eventId: string, result: unknown): Promise<boolean>;
  /** Gives up an owned claim; does nothing when it is no longer ours. */
  release(eventId: string, token: string): Promise<void>;
}
