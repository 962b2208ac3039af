import { CONNECTION_LIMITS, createDatabase, createPool, type BoundedPool, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { errorCodeOf } from "@toolctrl/foundation/errors";
import { findQueueMismatch, listLiveProcesses } from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import { resolveQueueBackend } from "@toolctrl/runtime/env";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { readCliEnv, readCliQueueEnv, type CliEnv, type CliQueueEnv } from "./env.ts";
import type { Io } from "./io.ts";

const APP = "toolctrl-cli";
const CLOSE_MS = 2000;
/** How long one question to the queue may take; the tables' half of an answer does not wait longer. */
const QUEUE_ANSWER_MS = 2000;
const POOL_OF_CHECKS = 4;
/** A person waits, for statements that may read a whole table. */
const LIMITS = { ...CONNECTION_LIMITS, silenceMs: 60 * 60 * 1000 };
const UNDEFINED_TABLE = "42P01";

/** Runs `use` with the database, and closes it whatever happens. */
export async function withDatabase<T>(io: Io, use: (database: Database) => Promise<T>, env: CliEnv = readCliEnv()): Promise<T> {
  const database = await openDatabase(env, cliLogger(io, env.LOG_LEVEL));
  try {
    return await use(database);
  } finally {
    await database.close(CLOSE_MS);
  }
}

/**
 * Runs `use` with the database and the queue, and closes both whatever happens. The queue's server may be away. What a queue tells that is not
 * that of the live processes is wrong of every job: who acts on the answer refuses it, who only looks warns of it.
 * @throws CodedError `QUEUE.MISMATCH` with `refuse`
 */
export async function withQueue<T>(
  io: Io,
  ofAnother: "refuse" | "warn",
  use: (database: Database, backend: QueueBackend) => Promise<T>,
  env: CliQueueEnv = readCliQueueEnv(),
): Promise<T> {
  const log = cliLogger(io, env.LOG_LEVEL);
  const database = await openDatabase(env, log);
  try {
    // Before it is opened: BullMQ makes its tables in a database that it is given.
    await checkQueue(io, database.pool, { kind: resolveQueueBackend(env).kind, prefix: env.QUEUE_PREFIX }, ofAnother);
    const backend = await openQueue(env, log);
    try {
      return await use(database, backend);
    } finally {
      await backend.close(CLOSE_MS);
    }
  } finally {
    await database.close(CLOSE_MS);
  }
}

/**
 * Runs `use` with connections to a database and a queue that may both be away or set up wrongly: what is wrong is the caller's question. Closes
 * both whatever happens.
 */
export async function withInstallation<T>(
  io: Io,
  env: CliQueueEnv,
  use: (pool: BoundedPool, backend: QueueBackend) => Promise<T>,
): Promise<T> {
  const log = cliLogger(io, env.LOG_LEVEL);
  const pool = createPool({ url: env.DATABASE_URL, max: POOL_OF_CHECKS, app: APP, log, limits: LIMITS });
  try {
    const backend = await openQueue(env, log);
    try {
      return await use(pool, backend);
    } finally {
      await backend.close(CLOSE_MS);
    }
  } finally {
    // What still runs here has been given up.
    await pool.endWithin(0);
  }
}

type OwnQueue = Pick<QueueBackend, "kind" | "prefix">;

async function checkQueue(io: Io, db: Queryable, own: OwnQueue, ofAnother: "refuse" | "warn"): Promise<void> {
  const processes = await listLiveProcesses(db).catch((error: unknown) => {
    // Where there are no tables yet nobody runs, and the gate's answer is what is missing.
    if (errorCodeOf(error) === UNDEFINED_TABLE) return [];
    throw error;
  });
  if (processes.length === 0 && ofAnother === "refuse")
    io.err.write(`warning: no live process has said which queue it uses; this command asks ${own.kind}, prefix ${own.prefix}\n`);
  const mismatch = findQueueMismatch(processes, own);
  if (mismatch === null) return;
  if (ofAnother === "refuse") throw mismatch;
  io.err.write(`warning: ${mismatch.message}\nnext: ${mismatch.fix}\n`);
}

async function openQueue(env: CliQueueEnv, log: Logger): Promise<QueueBackend> {
  // Loaded by those commands that ask the queue: it is a quarter of what starting the program takes.
  const { createQueueBackend } = await import("@toolctrl/queue/backend");
  return createQueueBackend({
    kind: resolveQueueBackend(env).kind,
    ...(env.REDIS_URL === undefined ? {} : { redisUrl: env.REDIS_URL }),
    databaseUrl: env.DATABASE_DIRECT_URL ?? env.DATABASE_URL,
    prefix: env.QUEUE_PREFIX,
    // It only looks: what a job's attempts are is the business of those who add it.
    attempts: 1,
    backoffMs: 1000,
    addTimeoutMs: QUEUE_ANSWER_MS,
    log,
  });
}

/** Logs go to the error output, so that the output holds the result and nothing else. */
export function cliLogger(io: Io, level: string): Logger {
  return createLogger({ app: APP, level, destination: { write: (line: string) => void io.err.write(line) } });
}

function openDatabase(env: { DATABASE_URL: string; DATABASE_DIRECT_URL?: string | undefined }, log: Logger): Promise<Database> {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: directUrl } = env;
  return createDatabase({ url, directUrl, poolMax: 2, limits: LIMITS, app: APP, wakeup: false, log });
}
