import pg from "pg";
import type { DatabaseLog } from "./log.ts";
import { connectionConfig } from "./pool-config.ts";
import { sendWakeup } from "./send-wakeup.ts";

/** Between two hints of one process; what is published in between shares the second. */
const SPACING_MS = 20;
const PAUSE_AFTER_ERROR_MS = 1_000;

/** Sends coalesced hints on a connection of its own. */
export interface WakeupSender {
  /** Asks for a hint. Returns at once and never throws; an error of the hint is logged and forgotten. */
  request(): void;
  close(): Promise<void>;
}

/** Makes the sender; it connects at the first request. */
export function createWakeupSender(options: { url: string; app: string; log?: DatabaseLog | undefined }): WakeupSender {
  return new CoalescingSender(options);
}

class CoalescingSender implements WakeupSender {
  readonly #options: { url: string; app: string; log?: DatabaseLog | undefined };
  #client: pg.Client | undefined;
  #wanted = false;
  #running: Promise<void> | undefined;
  #closed = false;
  #endPause: (() => void) | undefined;

  constructor(options: { url: string; app: string; log?: DatabaseLog | undefined }) {
    this.#options = options;
  }

  request(): void {
    if (this.#closed) return;
    this.#wanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#endPause?.();
    await this.#running;
    await this.#drop();
  }

  async #run(): Promise<void> {
    while (this.#wanted) {
      this.#wanted = false;
      const sent = await this.#send();
      if (this.#closed) return;
      await this.#pause(sent ? SPACING_MS : PAUSE_AFTER_ERROR_MS);
    }
  }

  async #send(): Promise<boolean> {
    try {
      this.#client ??= await this.#connect();
      await sendWakeup(this.#client);
      return true;
    } catch (error) {
      this.#options.log?.warn({ err: error }, "a wake-up hint was not sent; the drainers find the events by polling");
      await this.#drop();
      return false;
    }
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({ ...connectionConfig(this.#options.url, `${this.#options.app} wakeup`), query_timeout: 5_000 });
    client.on("error", () => {
      if (this.#client === client) this.#client = undefined;
    });
    await client.connect();
    return client;
  }

  async #drop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // The connection may be broken already; that it cannot be ended politely changes nothing.
    await client?.end().catch(() => undefined);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
