import { PrismaPg } from "@prisma/adapter-pg";
import type pg from "pg";
import { checkSession, type Session } from "./check-session.ts";
import { withCommitHook } from "./commit-hook.ts";
import { PrismaClient } from "./generated/client.ts";
import type { DatabaseLog } from "./log.ts";
import { createPool, type BoundedPool, type WaitListener } from "./pool.ts";
import { CONNECTION_LIMITS, type ConnectionLimits } from "./pool-config.ts";
import { setPublishHint } from "./publish-hint.ts";
import { PREPARED_PUBLISH_STATEMENTS } from "./publish-statements.ts";
import { createWakeupSender } from "./wakeup-sender.ts";

export { OutboxStatus, Prisma, PrismaClient } from "./generated/client.ts";
export type { DatabaseLog } from "./log.ts";
export { checkSession, type Session } from "./check-session.ts";
export { isDatabaseAway } from "./is-database-away.ts";
export { askServerState, type ServerState } from "./ask-server-state.ts";
export { createPool, type BoundedPool } from "./pool.ts";
export { CONNECTION_LIMITS } from "./pool-config.ts";
export { IN_FAILED_TRANSACTION, LOCK_NOT_AVAILABLE, READ_ONLY_TRANSACTION, DISK_FULL, sqlStateOf } from "./sql-state-of.ts";
export { transaction } from "./transaction.ts";
export { violatedConstraint } from "./violated-constraint.ts";

/** The limits of Prisma's interactive transactions, ms. No handler runs in one; `timeout` is for a product's own short work. */
export const PRISMA_TRANSACTION_LIMITS = { maxWait: CONNECTION_LIMITS.connectTimeoutMs, timeout: 10_000 };

/** Less than a readiness check waits, so that its answer is the reason and not "no answer". */
const PING_MS = 1_200;

export interface DatabaseOptions {
  readonly url: string;
  /** A URL that bypasses a pooler; the wake-up hints use it. */
  readonly directUrl?: string | undefined;
  readonly poolMax: number;
  readonly limits?: ConnectionLimits | undefined;
  /** Name of the process in pg_stat_activity. */
  readonly app: string;
  /** Whether commits with events, Prisma's and those of `transaction` on the pool, send a hint to the drainers. Default true. */
  readonly wakeup?: boolean | undefined;
  readonly log?: DatabaseLog | undefined;
  /** Told how long (s) each caller waited that found no idle connection, of the second pools too. */
  readonly onPoolWait?: WaitListener | undefined;
}

export interface Database {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  /**
   * A second pool to the same database, for what must not wait behind the first one's work; whoever opens it ends it. `name` follows the
   * process's name in pg_stat_activity.
   */
  openPool(options: { max: number; name: string; limits?: ConnectionLimits }): BoundedPool;
  /** Waits up to `graceMs` (default 5000) for running statements, then breaks their connections. */
  close(graceMs?: number): Promise<void>;
  /** @throws `DB.POOL_TIMEOUT`, or the driver's error, when the database does not answer; `DB.READ_ONLY` when it takes no writes. */
  ping(): Promise<void>;
}

/**
 * Opens the process's one database pool, with Prisma over it.
 *
 * @throws CodedError `DB.NOT_UTC`, `DB.DATE_STYLE` when the session does not run in UTC or write ISO dates; the driver's error when the database does not answer.
 */
export async function createDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, app, log, onPoolWait: onWait } = options;
  const pool = createPool({ url, max: options.poolMax, app, log, limits: options.limits ?? CONNECTION_LIMITS, onWait });
  const { direct } = await checkedSession(pool);
  const wakeup = options.wakeup === false ? undefined : createWakeupSender({ url: options.directUrl ?? url, app, log });
  const hint = (): void => wakeup?.request();
  setPublishHint(pool, hint);
  const adapter = withCommitHook(new PrismaPg(pool, direct ? { statementNameGenerator } : {}), hint);
  const prisma = new PrismaClient({ adapter, transactionOptions: PRISMA_TRANSACTION_LIMITS });
  let closing: Promise<void> | undefined;
  return {
    pool,
    prisma,
    openPool: ({ max, name, limits = CONNECTION_LIMITS }) => createPool({ url, max, app: `${app}:${name}`, log, limits, onWait }),
    close: (graceMs = 5_000) => (closing ??= closeAll(graceMs)),
    ping: () => pool.ping(PING_MS),
  };

  async function closeAll(graceMs: number): Promise<void> {
    await Promise.all([wakeup?.close(), pool.endWithin(graceMs)]);
    await prisma.$disconnect();
  }
}

async function checkedSession(pool: BoundedPool): Promise<Session> {
  try {
    return await checkSession(pool);
  } catch (error) {
    await pool.endWithin(0);
    throw error;
  }
}

// `undefined` leaves a statement unnamed, which is what the driver makes of no name; the adapter's type does not say so.
const statementNameGenerator = ((query) => PREPARED_PUBLISH_STATEMENTS.get(query.sql)) as NonNullable<
  NonNullable<ConstructorParameters<typeof PrismaPg>[1]>["statementNameGenerator"]
>;
