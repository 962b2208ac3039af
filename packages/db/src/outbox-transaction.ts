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

/** A transaction of raw SQL in the shape of Prisma's, for publishing and receipts inside it. */
export function outboxTransactionOf(tx: Queryable): OutboxTransaction {
  const outbox: OutboxTransaction = {
    $executeRawUnsafe: async (query, ...values) => (await tx.query(query, values)).rowCount ?? 0,
    $queryRawUnsafe: async <T>(query: string, ...values: unknown[]) => (await tx.query(query, values)).rows as T,
  };
  causes.set(outbox, eventCauseOf(tx));
  return outbox;
}

/**
 * The transaction, for code that is handed it and knows of no cause: everything that is published through it says what led to it, where the event
 * says nothing of its own. It is another object, as a connection outlives its transaction.
 */
export function withEventCause(tx: Queryable, cause: EventCause): Queryable & OutboxTransaction {
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
  return new CodedError("PUBLISH.ROOT_CLIENT", `expected the client of a Prisma transaction, got ${got}`, { facts: { got } });
}
