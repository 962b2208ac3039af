import type { CheckedEvent } from "./check-outbox-event.ts";
import { linesToLock } from "./line-locks.ts";
import type { OutboxTransaction } from "./outbox-transaction.ts";
import { FIND_EXISTING, FIND_ONE, INSERT_MANY, INSERT_ONE } from "./publish-statements.ts";
import { forgetRecordKeyColumn, hasRecordKeyColumn } from "./record-key-column.ts";

/** A checked event and the id it gets if it is new. */
export interface NewEvent extends CheckedEvent {
  readonly id: string;
}

/**
 * Inserts one event in one round trip, its position drawn under the lock of its record's line.
 *
 * Locks taken: the line (a rival that published for the record holds it until it ends), the row, and the wait for a rival that holds
 * the same dispatch key uncommitted (both bounded by `lock_timeout`).
 * @returns whether the row was written; false when its dispatch key is taken.
 */
export async function insertOutboxEvent(tx: OutboxTransaction, event: NewEvent): Promise<boolean> {
  const { id, tenantId, eventType, version, payload, dispatchKey } = event;
  const { scheduledAt, correlationId, causationId, depth, traceparent, tracestate } = event;
  const plain = scheduledAt === null && correlationId === null && causationId === null && depth === 0 && traceparent === null;
  const values: unknown[] = [id, tenantId, eventType, version, payload, dispatchKey];
  if (!plain) values.push(scheduledAt, correlationId, causationId, depth, traceparent, tracestate);
  const statements = INSERT_ONE[plain ? "plain" : "full"];
  return insertInto(tx, [event], async (withKey) => {
    if (!withKey) return (await tx.$executeRawUnsafe(statements.legacy, ...values)) === 1;
    const kind = linesToLock(tx, [event]).length === 1 ? "locked" : "unlocked";
    return (await tx.$executeRawUnsafe(statements[kind], ...values, event.recordKey ?? id)) === 1;
  });
}

/**
 * Inserts many events in one statement, positions in the order of the list and drawn under the locks of their lines.
 * @returns the ids that were written.
 */
export async function insertOutboxEvents(tx: OutboxTransaction, events: readonly NewEvent[]): Promise<Set<string>> {
  // The payload is JSON text already; in the row object it would be quoted and parsed once more.
  const rows = events.map(
    ({ payload, ...row }) => `${JSON.stringify({ ...row, recordKey: row.recordKey ?? row.id }).slice(0, -1)},"payload":${payload}}`,
  );
  const json = `[${rows.join(",")}]`;
  return insertInto(tx, events, async (withKey) => {
    const written = await (withKey
      ? tx.$queryRawUnsafe<Array<{ id: string }>>(INSERT_MANY.keyed, json, JSON.stringify(linesToLock(tx, events)))
      : tx.$queryRawUnsafe<Array<{ id: string }>>(INSERT_MANY.legacy, json));
    return new Set(written.map((row) => row.id));
  });
}

/** Runs an INSERT in the form that the live table takes. */
async function insertInto<T>(tx: OutboxTransaction, events: readonly CheckedEvent[], insert: (withKey: boolean) => Promise<T>): Promise<T> {
  const underivable = events.some((event) => event.recordKey !== null && !event.derivable);
  const withKey = await hasRecordKeyColumn(tx, underivable);
  try {
    return await insert(withKey);
  } catch (error) {
    forgetRecordKeyColumn(tx);
    throw error;
  }
}

/** The id of the event that holds a dispatch key. Index: `OutboxEvent_tenantId_dispatchKey_key`. */
export async function findPublished(tx: OutboxTransaction, event: CheckedEvent): Promise<string | undefined> {
  const rows = await tx.$queryRawUnsafe<Array<{ id: string }>>(FIND_ONE, event.tenantId, event.dispatchKey);
  return rows[0]?.id;
}

/** {@link findPublished} for many: the ids in the order of the list, undefined where there is none. */
export async function findManyPublished(tx: OutboxTransaction, events: readonly CheckedEvent[]): Promise<Array<string | undefined>> {
  const keys = JSON.stringify(events.map(({ tenantId, dispatchKey }) => ({ tenantId, dispatchKey })));
  const rows = await tx.$queryRawUnsafe<Array<{ place: number; id: string }>>(FIND_EXISTING, keys);
  const byPlace = new Map(rows.map((row) => [row.place, row.id]));
  return events.map((_, index) => byPlace.get(index + 1));
}
