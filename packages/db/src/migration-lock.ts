import { setTimeout as sleep } from "node:timers/promises";
import { CodedError } from "@toolctrl/foundation/errors";
import type { Queryable } from "./sql.ts";

/** Prisma's own key: `prisma migrate deploy`, run elsewhere, waits for us and we for it. */
const LOCK_KEY = 72707369;
const POLL_MS = 100;

/**
 * Takes the migration lock for the life of the session.
 *
 * It asks again and again instead of waiting inside PostgreSQL: a waiting statement holds a snapshot, for which a rival's
 * CREATE INDEX CONCURRENTLY waits, and neither would ever go on.
 *
 * @throws CodedError `MIGRATE.LOCKED` after `waitMs`
 */
export async function takeMigrationLock(db: Queryable, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const { rows } = await db.query<{ taken: boolean }>(`SELECT pg_try_advisory_lock(${LOCK_KEY}) AS "taken"`);
    if (rows[0]?.taken === true) return;
    if (performance.now() >= deadline)
      throw new CodedError("MIGRATE.LOCKED", `expected the migration lock within ${waitMs} ms, got none`, { facts: { waitMs } });
    await sleep(POLL_MS);
  }
}
