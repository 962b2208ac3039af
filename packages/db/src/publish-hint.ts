import type pg from "pg";

/** What to do after a commit that published, by the pool on which it ran. */
const hints = new WeakMap<pg.Pool, () => void>();

/** Says whom transactions on a pool hint when they have published. `hint` must neither block nor throw. */
export function setPublishHint(pool: pg.Pool, hint: () => void): void {
  hints.set(pool, hint);
}

/** Hints that a committed transaction of this pool has published; a pool that hints nobody leaves the events to the polling. */
export function hintPublished(pool: pg.Pool): void {
  hints.get(pool)?.();
}

/** Whether a statement publishes, as far as its text says. */
export function insertsOutboxEvent(sql: string): boolean {
  return sql.includes('"OutboxEvent"') && /\binsert\s+into\s+(?:"\w+"\.)?"OutboxEvent"/i.test(sql);
}
