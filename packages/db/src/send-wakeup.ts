import type { Queryable } from "./sql.ts";

/** The channel of the hint "there may be due events". It carries no data, and nothing depends on it. */
export const WAKEUP_CHANNEL = "toolctrl_outbox";

/**
 * Hints to every listening drainer that events may be due. Call it outside a transaction: inside one, the commit takes a lock that
 * all notifying commits of the database wait for.
 */
export async function sendWakeup(db: Queryable): Promise<void> {
  await db.query(`NOTIFY ${WAKEUP_CHANNEL}`);
}
