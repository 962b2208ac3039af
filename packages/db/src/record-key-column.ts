import type { OutboxTransaction } from "./outbox-transaction.ts";

/** How long "there is no such column" is believed, ms. In between the table's trigger derives the keys. */
const ABSENT_FOR_MS = 30_000;

// to_regclass follows the search path, as the INSERT does.
const HAS_COLUMN = `SELECT EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass('"OutboxEvent"') AND attname = 'recordKey'
  AND attnum > 0 AND NOT attisdropped) AS "column"`;

/** By client: true for good (the column is never dropped), a number is the time until which it is taken for absent. */
const answers = new WeakMap<object, true | number>();

/**
 * Whether the live table has `"recordKey"`. It is the catalogue that is asked, not the generated client: this code may run before
 * the migration. The answer decides before the INSERT, because a failed statement would end the caller's transaction.
 *
 * @param mustKnow ask again even where the column was absent a moment ago: the trigger could not derive this event's key
 */
export async function hasRecordKeyColumn(tx: OutboxTransaction, mustKnow: boolean): Promise<boolean> {
  const client = clientOf(tx);
  const answer = answers.get(client);
  if (answer === true) return true;
  if (answer !== undefined && !mustKnow && performance.now() < answer) return false;
  const rows = await tx.$queryRawUnsafe<Array<{ column: boolean }>>(HAS_COLUMN);
  const present = rows[0]?.column === true;
  answers.set(client, present || performance.now() + ABSENT_FOR_MS);
  return present;
}

/** Asks the catalogue anew at the next publish: an INSERT failed, perhaps because the database is another one now. */
export function forgetRecordKeyColumn(tx: OutboxTransaction): void {
  answers.delete(clientOf(tx));
}

// Every transaction client shares its engine with the client that opened it, also when that is extended. It is no public name: where
// it is missing, each transaction asks for itself, which costs a round trip and nothing else.
function clientOf(tx: OutboxTransaction): object {
  const engine: unknown = Reflect.get(tx, "_engine");
  return typeof engine === "object" && engine !== null ? engine : tx;
}
