import pg from "pg";
import type { DatabaseLog } from "./log.ts";
import { connectionConfig } from "./pool-config.ts";
import { WAKEUP_CHANNEL } from "./send-wakeup.ts";

const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;
/** A pooler that is paused takes a login and answers nothing; whoever starts waits for the first connection. */
const ANSWER_MS = 5_000;

export interface WakeupListener {
  close(): Promise<void>;
}

/**
 * Calls `onWake` for each hint, and once after each (re)connection, as hints may have been missed. Needs a direct connection: a
 * pooler in transaction mode swallows LISTEN, and then only polling finds the events.
 *
 * Resolves when the first connection stands or has failed; it goes on trying, and never throws into the caller.
 */
export async function listenForWakeups(options: {
  url: string;
  onWake: () => void;
  app?: string;
  log?: DatabaseLog | undefined;
}): Promise<WakeupListener> {
  const listener = new Listener(options);
  await listener.connect();
  return listener;
}

class Listener implements WakeupListener {
  readonly #options: { url: string; onWake: () => void; app?: string; log?: DatabaseLog | undefined };
  #client: pg.Client | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = FIRST_RETRY_MS;
  #closed = false;

  constructor(options: { url: string; onWake: () => void; app?: string; log?: DatabaseLog | undefined }) {
    this.#options = options;
  }

  async connect(): Promise<void> {
    const client = new pg.Client({
      ...connectionConfig(this.#options.url, `${this.#options.app ?? "toolctrl"} listener`),
      query_timeout: ANSWER_MS,
    });
    this.#client = client;
    client.on("notification", () => this.#wake());
    client.on("error", (error) => this.#lost(client, error));
    client.on("end", () => this.#lost(client, undefined));
    try {
      await client.connect();
      await client.query(`LISTEN ${WAKEUP_CHANNEL}`);
      this.#retryMs = FIRST_RETRY_MS;
      this.#wake();
    } catch (error) {
      this.#lost(client, error);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const client = this.#client;
    this.#client = undefined;
    // It may be broken already; then there is nothing to end.
    await client?.end().catch(() => undefined);
  }

  #lost(client: pg.Client, error: unknown): void {
    // One loss is reported by `error`, `end` and a failed call alike; only the first counts.
    if (this.#closed || this.#client !== client) return;
    this.#client = undefined;
    void client.end().catch(() => undefined);
    this.#options.log?.warn({ err: error, retryMs: this.#retryMs }, "the wake-up listener lost its connection; polling goes on");
    this.#retry = setTimeout(() => void this.connect(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  #wake(): void {
    if (this.#closed) return;
    try {
      this.#options.onWake();
    } catch (error) {
      this.#options.log?.error({ err: error }, "the wake-up handler failed");
    }
  }
}
