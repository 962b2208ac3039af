import { CodedError } from "@toolctrl/foundation/errors";
import { uuidv7 } from "uuidv7";
import { checkOutboxEvent, type CheckedEvent } from "./check-outbox-event.ts";
import { findManyPublished, findPublished, insertOutboxEvent, insertOutboxEvents, type NewEvent } from "./insert-outbox-events.ts";
import type { EventCause, OutboxEventInput, PublishedEvent } from "./outbox-event-input.ts";
import { assertOutboxTransaction, eventCauseOf, type OutboxTransaction } from "./outbox-transaction.ts";

/** More in one call is refused: the statement would hold its locks, and its text, too long. */
export const MAX_EVENTS_PER_PUBLISH = 1_000;
const MAX_BYTES_PER_PUBLISH = 32 * 1024 * 1024;
const MAX_TRIES = 3;

/**
 * Writes an event inside the caller's transaction: it exists if and only if that commits.
 *
 * With a `dispatchKey` that is taken, nothing is written and the existing event's id comes back. No outcome poisons the transaction:
 * bad arguments are refused before any SQL, and a duplicate is no error. Under REPEATABLE READ or SERIALIZABLE a rival with the same
 * key can end in a serialization failure (40001): run the transaction again.
 *
 * @throws CodedError `PUBLISH.ROOT_CLIENT`, `PUBLISH.ARGUMENT`, `PUBLISH.EVENT_TYPE`, `PUBLISH.PAYLOAD_NOT_JSON`,
 * `PUBLISH.PAYLOAD_TOO_LARGE`, `PUBLISH.PAYLOAD_SCHEMA`, `PUBLISH.CONFLICT`
 */
export async function publishOutboxEvent<T extends string>(tx: OutboxTransaction, event: OutboxEventInput<T>): Promise<PublishedEvent> {
  assertOutboxTransaction(tx);
  const checked = checkOutboxEvent(event, eventCauseOf(tx));
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const id = uuidv7();
    if (await insertOutboxEvent(tx, { ...checked, id })) return { id, duplicate: false };
    if (checked.dispatchKey === null) continue;
    const existing = await findPublished(tx, checked);
    if (existing !== undefined) return { id: existing, duplicate: true };
  }
  throw conflict([checked]);
}

/**
 * Writes many events, at most 1000, in one statement. Results are in the order of the list, and so are the events' positions. A
 * dispatch key that comes twice in the list is a duplicate of its first occurrence.
 *
 * One bad event refuses the whole list, before any SQL.
 *
 * @throws what {@link publishOutboxEvent} throws; the message of a bad event names its index.
 */
export async function publishOutboxEvents<const T extends readonly string[]>(
  tx: OutboxTransaction,
  events: readonly [...{ readonly [Index in keyof T]: OutboxEventInput<T[Index]> }],
): Promise<PublishedEvent[]> {
  assertOutboxTransaction(tx);
  const checked = checkList(events, eventCauseOf(tx));
  const results: Array<PublishedEvent | undefined> = checked.map(() => undefined);
  let open = checked.map((event, index) => ({ event, index }));
  for (let tries = 0; tries < MAX_TRIES && open.length > 0; tries += 1) {
    const fresh: NewEvent[] = open.map(({ event }) => ({ ...event, id: uuidv7() }));
    const written = await insertOutboxEvents(tx, fresh);
    const refused: typeof open = [];
    for (const [place, { event, index }] of open.entries()) {
      const id = fresh[place]?.id ?? "";
      if (written.has(id)) results[index] = { id, duplicate: false };
      else refused.push({ event, index });
    }
    open = await resolveDuplicates(tx, refused, results);
  }
  if (open.length > 0) throw conflict(open.map(({ event }) => event));
  return results.filter((result) => result !== undefined);
}

type Open = Array<{ readonly event: CheckedEvent; readonly index: number }>;

/** Fills in the results of events whose key is taken; returns those whose rival has gone in between. */
async function resolveDuplicates(tx: OutboxTransaction, refused: Open, results: Array<PublishedEvent | undefined>): Promise<Open> {
  if (refused.length === 0) return [];
  const existing = await findManyPublished(
    tx,
    refused.map(({ event }) => event),
  );
  return refused.filter(({ index }, place) => {
    const id = existing[place];
    if (id === undefined) return true;
    results[index] = { id, duplicate: true };
    return false;
  });
}

function checkList(events: readonly OutboxEventInput[], cause: EventCause): CheckedEvent[] {
  if (!Array.isArray(events) || events.length > MAX_EVENTS_PER_PUBLISH) {
    const got = Array.isArray(events) ? String(events.length) : typeof events;
    throw new CodedError("PUBLISH.ARGUMENT", `expected a list of at most ${MAX_EVENTS_PER_PUBLISH} events, got ${got}`, { facts: { got } });
  }
  // Array.from, not map: a hole must be seen.
  const checked = Array.from(events, (event, index) => checkAt(event, index, cause));
  const bytes = checked.reduce((sum, event) => sum + event.bytes, 0);
  if (bytes <= MAX_BYTES_PER_PUBLISH) return checked;
  throw new CodedError("PUBLISH.PAYLOAD_TOO_LARGE", `expected payloads of at most ${MAX_BYTES_PER_PUBLISH} bytes together, got ${bytes}`, {
    facts: { bytes, limit: MAX_BYTES_PER_PUBLISH },
  });
}

function checkAt(event: OutboxEventInput, index: number, cause: EventCause): CheckedEvent {
  try {
    return checkOutboxEvent(event, cause);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    throw new CodedError(error.code, `event ${index}: ${error.message}`, { facts: { ...error.facts, index }, cause: error });
  }
}

function conflict(events: readonly CheckedEvent[]): CodedError {
  const dispatchKeys = events.map((event) => event.dispatchKey);
  return new CodedError("PUBLISH.CONFLICT", `expected each dispatch key to be free or taken, got rivals that vanish ${MAX_TRIES} times`, {
    facts: { dispatchKeys },
  });
}
