import type { Socket } from "node:net";
import { CodedError } from "@toolctrl/foundation/errors";
import pg from "pg";
import type { DatabaseLog } from "./log.ts";
import { CONNECTION_LIMITS, connectionConfig, type ConnectionLimits } from "./pool-config.ts";

/** Told how long (s) a caller waited for a connection, also when it got none. */
export type WaitListener = (seconds: number) => void;

type ConnectCallback = (error: Error | undefined, client: pg.PoolClient | undefined, release: (release?: unknown) => void) => void;

/** A pool whose waits are bounded, whose time-out is a `DB.POOL_TIMEOUT`, and which can be ended within a grace period. */
export class BoundedPool extends pg.Pool {
  readonly #clients = new Set<pg.PoolClient>();
  readonly #facts: { max: number; waitedMs: number };
  readonly #onWait: WaitListener | undefined;

  constructor(config: pg.PoolConfig, onWait?: WaitListener) {
    super(config);
    this.#onWait = onWait;
    this.#facts = { max: config.max ?? 10, waitedMs: config.connectionTimeoutMillis ?? 0 };
    this.on("connect", (client) => this.#clients.add(client));
    this.on("remove", (client) => this.#clients.delete(client));
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(callback: ConnectCallback): void;
  override connect(callback?: ConnectCallback): Promise<pg.PoolClient> | undefined {
    const ended = this.#watchWait();
    if (callback === undefined) {
      return super
        .connect()
        .finally(ended)
        .catch((error: unknown) => Promise.reject(this.#named(error)));
    }
    super.connect((error, client, release) => {
      ended();
      callback(error === undefined ? error : this.#named(error), client, release);
    });
    return undefined;
  }

  /** Where a connection is idle for every caller, this one waits for nothing worth a measurement. */
  #watchWait(): () => void {
    const onWait = this.#onWait;
    if (onWait === undefined || this.idleCount > this.waitingCount) return () => undefined;
    const startedAt = performance.now();
    return () => onWait((performance.now() - startedAt) / 1000);
  }

  /**
   * @throws CodedError `DB.POOL_TIMEOUT` when there is no answer within `ms`, however long other statements may wait; `DB.READ_ONLY` from a
   * standby, or where sessions are read-only.
   */
  async ping(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(this.#timeout(ms)), ms);
    });
    try {
      await Promise.race([this.#assertTakesWrites(), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #assertTakesWrites(): Promise<void> {
    const client = await this.connect();
    let sound = false;
    try {
      const { rows } = await client.query<{ readOnly: boolean }>(`SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`);
      sound = rows[0]?.readOnly === false;
    } finally {
      // A session keeps the default that it began with: one that may not write is given up, or it would outlive the reason.
      client.release(!sound);
    }
    if (!sound) throw new CodedError("DB.READ_ONLY", "expected a database that takes writes, got one whose sessions are read-only");
  }

  /** Ends the pool: waits `graceMs` for running statements, then breaks their connections. Safe to call twice. */
  async endWithin(graceMs: number): Promise<void> {
    if (this.ending) return;
    const ended = this.end();
    const breakThem = setTimeout(() => {
      for (const client of this.#clients) void client.end().catch(() => undefined);
      // An ended client leaves the pool when its holder releases it; a holder that never does must not hold the process.
    }, graceMs);
    const giveUp = new Promise<void>((resolve) => setTimeout(resolve, graceMs + 500).unref());
    await Promise.race([ended, giveUp]);
    clearTimeout(breakThem);
  }

  #named(error: unknown): Error {
    if (error instanceof Error && /timeout/i.test(error.message) && /connect/i.test(error.message)) {
      return this.#timeout(this.#facts.waitedMs, error);
    }
    return error instanceof Error ? error : new Error(String(error));
  }

  #timeout(waitedMs: number, cause?: Error): CodedError {
    const counts = { total: this.totalCount, idle: this.idleCount, waiting: this.waitingCount };
    return new CodedError("DB.POOL_TIMEOUT", `expected a database connection within ${waitedMs} ms, got none`, {
      facts: { ...this.#facts, waitedMs, ...counts },
      cause,
    });
  }
}

/** Longest time that a connection is kept without use. */
const IDLE_MS = 30_000;

/** The one pool of a process. Connects when first used. */
export function createPool(options: {
  url: string;
  max: number;
  app: string;
  log?: DatabaseLog | undefined;
  limits?: ConnectionLimits;
  onWait?: WaitListener | undefined;
}): BoundedPool {
  const { limits = CONNECTION_LIMITS } = options;
  const config = connectionConfig(options.url, options.app, limits);
  // Before it would count as silent: what is not in use ends without a word, and one that the network has forgotten is not lent.
  const idleTimeoutMillis = Math.min(IDLE_MS, limits.silenceMs / 2);
  const pool = new BoundedPool({ ...config, max: options.max, idleTimeoutMillis }, options.onWait);
  // A connection that the server closes is replaced at the next use; without a listener, idle or lent, it would end the process.
  pool.on("error", (error) => options.log?.warn({ err: error }, "an idle database connection was lost"));
  pool.on("connect", (client) => client.on("error", (error) => options.log?.warn({ err: error }, "a database connection was lost")));
  pool.on("connect", (client) => endWhenSilent(client, limits.silenceMs));
  return pool;
}

/**
 * The connection goes, not the statement alone, as `query_timeout` has it: what waits behind the statement, such as the end of its transaction, would be
 * given up as well, and the next borrower would work in a transaction that nobody commits.
 */
function endWhenSilent({ connection }: pg.PoolClient, silenceMs: number): void {
  const socket = connection.stream as Socket;
  socket.setTimeout(silenceMs, () => {
    const error = new Error(`expected the database to say something within ${silenceMs} ms, got nothing`);
    socket.destroy(Object.assign(error, { code: "ETIMEDOUT" }));
  });
}
