/**
 * The key-value port. Every write is one atomic step at the server; times are of the server's clock, in ms.
 * All methods reject with CodedError `STORE.UNAVAILABLE` within a bounded time when the server does not answer or refuses the write.
 */
export interface KeyValueStore {
  readonly kind: "redis" | "postgres";
  /** `SET NX PX`. When a re-sent command finds its own value, the answer is true (a reply can be lost, the write is not). */
  setIfAbsent(key: string, value: string, ttlMs: number): Promise<boolean>;
  get(key: string): Promise<{ readonly value: string; readonly ttlMs: number } | null>;
  /**
   * Replaces the value and the expiry if the present value is `expected`. A present value that is `value` already counts as replaced, for
   * the same reason as above: callers make every value unique to its writer.
   */
  compareAndSet(key: string, expected: string, value: string, ttlMs: number): Promise<boolean>;
  /** Deletes the key if its value is `expected`. */
  compareAndDelete(key: string, expected: string): Promise<boolean>;
  /** A bounded round trip that a server which takes no writes refuses, for readiness. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Where an adapter reports what no call can report. A pino logger fits. */
export interface StoreLog {
  warn(facts: Readonly<Record<string, unknown>>, message: string): void;
}
