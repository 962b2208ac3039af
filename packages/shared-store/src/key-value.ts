/**
 * The key-value port. Every write is one atomic step at the server; times are of the server's clock, in ms.
 * All methods reject with CodedError `STORE.UNAVAILABLE` within a bounded time when the server does not answer or refuses the write.
 */
export interface KeyValueStore {
  readonly kind: "redis" | "postgres";
  /** `SET NX PX`. When a re-sent command finds its own value, the answer is true (a reply can be lost, the write is not). */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
  get(key: string): Promise<{ readonly value: string; readonly ttlMs: number } | null>;
  /** Replaces the value and the expiry if the present value is `expected`. */
  compareAndSet(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>;
  /** Deletes the key if its value is `expected`. */
  compareAndDelete(key: string, expected: string): Promise<boolean>;
  /** A bounded round trip, for readiness. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
