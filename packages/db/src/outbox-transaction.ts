import { CodedError } from "@toolctrl/foundation/errors";
import type { EventCause } from "./outbox-event-input.ts";
import type { Queryable } from "./sql.ts";

/**
 * A Prisma transaction client, of this package's or of a product's own generated client. The root client has `$connect`, so it
 * does not fit: what is written through it is not part of the transaction.
 */
export interface OutboxTransaction {
  $executeRawUnsafe(query: string, ...values: unknown[]): PromiseLike<number>;
  $queryRawUnsafe<T = unknown>(query: string, ...values: unknown[]): PromiseLike<T>;
  readonly $connect?: never;
}

const causes = new WeakMap<object, EventCause>();

/**
 * Where the statements of one transaction of raw SQL run: what `transaction` gives, or a client after its BEGIN. A pool counts its
 * connections, so it does not fit: each statement would commit alone.
 */
export interface RawTransaction extends Queryable {
  readonly totalCount?: never;
  /** What the server said last, of a client of pg's: "I" when no transaction is open. */
  getTransactionStatus?(): string | null;
}

/**
 * A transaction of raw SQL in the shape of Prisma's, for publishing and receipts inside it.
 * @throws CodedError `PUBLISH.ROOT_CLIENT`, here for a pool, and from a statement for a client that is in no transaction
 */
export function outboxTransactionOf(tx: RawTransaction): OutboxTransaction {
  if ("totalCount" in tx) throw refused("a pool");
  const run = async (query: string, values: unknown[]) => {
    if (tx.getTransactionStatus?.() === "I") throw refused("a client that is in none");
    return tx.query(query, values);
  };
  const outbox: OutboxTransaction = {
    $executeRawUnsafe: async (query, ...values) => (await run(query, values)).rowCount ?? 0,
    $queryRawUnsafe: async <T>(query: string, ...values: unknown[]) => (await run(query, values)).rows as T,
  };
  causes.set(outbox, eventCauseOf(tx));
  return outbox;
}

/**
 * The transaction, for code that is handed it and knows of no cause: everything that is published through it says what led to it, where the event
 * says nothing of its own. It is another object, as a connection outlives its transaction.
 */
export function withEventCause(tx: RawTransaction, cause: EventCause): Queryable & OutboxTransaction {
  const caused = { query: tx.query.bind(tx), ...outboxTransactionOf(tx) };
  causes.set(caused, cause);
  return caused;
}

/** What led to all that is published through a transaction, as far as that was said. */
export function eventCauseOf(tx: object): EventCause {
  return causes.get(tx) ?? {};
}

/**
 * The run-time form of the type, for callers without types and for casts.
 * @throws CodedError `PUBLISH.ROOT_CLIENT`
 */
export function assertOutboxTransaction(tx: unknown): asserts tx is OutboxTransaction {
  if (typeof tx === "object" && tx !== null) {
    const client = tx as { readonly $connect?: unknown; readonly $queryRawUnsafe?: unknown };
    if (typeof client.$queryRawUnsafe === "function" && typeof client.$connect !== "function") return;
    if (typeof client.$connect === "function") throw refused("the root client");
  }
  throw refused(tx === null ? "null" : typeof tx);
}

function refused(got: string): CodedError {
  return new CodedError("PUBLISH.ROOT_CLIENT", `expected the client of a transaction, got ${got}`, { facts: { got } });
}
