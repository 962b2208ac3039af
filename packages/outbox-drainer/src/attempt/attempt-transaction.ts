import { randomUUID } from "node:crypto";
import type { Prisma } from "@toolctrl/db/client";

export type AttemptTransaction = Prisma.TransactionClient;

/** No handler has a timer; this is the longest one Node has, 24.8 days. */
const NO_TIMEOUT_MS = 2_147_483_647;

// The pool's own time-out comes first, and says what it is.
export const TRANSACTION_OPTIONS = { maxWait: 6_000, timeout: NO_TIMEOUT_MS };

const LIMITS = `SELECT set_config('lock_timeout', $1::text, true), set_config('idle_in_transaction_session_timeout', COALESCE($2::text, current_setting('idle_in_transaction_session_timeout')), true)`;

/**
 * A name that no handler has: a savepoint of its own with the same one would be rolled back to in place of ours. One for the whole process,
 * since pg_stat_statements keeps an entry for each name before PostgreSQL 17.
 */
const SAVEPOINT = `"attempt ${randomUUID()}"`;

/** The limits of this transaction only, and the savepoint that a failed attempt is rolled back to. */
export async function beginAttempt(
  tx: AttemptTransaction,
  limits: { lockTimeoutMs: number; idleInTransactionMs?: number | undefined },
): Promise<void> {
  await tx.$queryRawUnsafe(
    LIMITS,
    `${limits.lockTimeoutMs}ms`,
    limits.idleInTransactionMs === undefined ? null : `${limits.idleInTransactionMs}ms`,
  );
  await tx.$executeRawUnsafe(`SAVEPOINT ${SAVEPOINT}`);
}

/** Undoes everything the handlers did; the claim and the transaction stay. */
export async function undoEffects(tx: AttemptTransaction): Promise<void> {
  await tx.$executeRawUnsafe(`ROLLBACK TO SAVEPOINT ${SAVEPOINT}`);
}
