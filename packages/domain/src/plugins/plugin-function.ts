import type { OutboxTransaction } from "@toolctrl/db/outbox";
import type { Queryable } from "@toolctrl/db/sql";
import type { JsonObject } from "@toolctrl/foundation/json";

/** A hook as a plugin's function gets it. */
export interface PluginHook {
  readonly eventId: string;
  readonly tenantId: string;
  readonly type: string;
  readonly payload: JsonObject;
  /** When the event was published, ISO 8601 in UTC. */
  readonly createdAt: string;
  /** How many events have led to what the function does: for what it asks for in another way than by `tx`. */
  readonly depth: number;
  readonly pluginId: string;
  readonly subscriptionId: string;
}

/** The transaction of an invocation: SQL, and publishing with `publishOutboxEvent(tx, …)`, which says by itself that the hook led to it. */
export type PluginTransaction = Queryable & OutboxTransaction;

export interface PluginContext {
  /**
   * What is written here is there exactly when the hook counts as taken. It is revoked when the function ends or its time is up; a call made
   * later is refused (`EFFECT.REVOKED`), one in flight is awaited.
   */
  readonly tx: PluginTransaction;
  /** Aborts when the time is up, when the worker stops, or when another delivery has taken over. What is written then is rolled back. */
  readonly signal: AbortSignal;
  /** The same on every try of this hook for this subscription; another on a deliberate repeat. */
  readonly idempotencyKey: string;
}

/**
 * A plugin's function, in the worker's own process. A thrown error rolls back what it wrote and is tried again, unless it is a `CodedError`
 * that says a retry cannot help.
 */
export type PluginFunction = (hook: PluginHook, context: PluginContext) => Promise<void>;

/** The functions a worker can call, by name. */
export type PluginFunctions = Readonly<Record<string, PluginFunction>>;
