import type { CheckedEvent } from "./check-outbox-event.ts";
import type { OutboxTransaction } from "./outbox-transaction.ts";

/** Half of what the server's lock table has for a transaction by default (`max_locks_per_transaction`): a full table fails everybody. */
const MAX_LINE_LOCKS = 32;

const taken = new WeakMap<OutboxTransaction, Set<string>>();

/**
 * The lines, as `tenantId/recordKey`, that publishing these events has to lock. Beyond 32 in one transaction none is added: the locks
 * make a wrong order of writing and publishing loud, and who locks the record first does not depend on them.
 */
export function linesToLock(tx: OutboxTransaction, events: readonly CheckedEvent[]): string[] {
  const names = events.flatMap(({ tenantId, recordKey }) => (recordKey === null ? [] : [`${tenantId}/${recordKey}`]));
  if (names.length === 0) return names;
  const before = taken.get(tx) ?? new Set<string>();
  taken.set(tx, before);
  // One that is held already is named again: a savepoint that was rolled back may have released it.
  return [...new Set(names)].toSorted().filter((name) => {
    if (before.size < MAX_LINE_LOCKS) before.add(name);
    return before.has(name);
  });
}
