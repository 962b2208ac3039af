import { hostname } from "node:os";
import { transaction } from "@toolctrl/db/client";
import { describeError } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Pool } from "pg";
import { uuidv7 } from "uuidv7";
import { findForeignQueues, insertProcess, deleteProcess, hasRegistryColumn, renewProcess, reportBlockers } from "./sql/registry-rows.ts";
import { findQueueMismatch } from "./stats/find-queue-mismatch.ts";

/** What a process says of itself. */
export interface ProcessEntry {
  readonly app: string;
  /** Its vote on the drainer: `OUTBOX_PULL_WORKER`. */
  readonly vote: "false" | "shadow" | "true";
  /** Whether it drains (`OUTBOX_DISPATCHER_ENABLED`). */
  readonly drains: boolean;
  readonly queueBackend: string;
  readonly queuePrefix: string;
  /** The queues it consumes. */
  readonly queues: readonly string[];
  /** The consumers that work there, by name. */
  readonly consumers?: readonly string[];
  /** What keeps it from running pull workers, a phrase each; absent when it does not drain. */
  readonly blockers?: readonly string[];
}

export interface RegisteredProcess {
  readonly id: string;
  /** Enters what keeps this process from running pull workers now. */
  reportBlockers(blockers: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** A process counts as live for this long after it was last heard of. */
export const ALIVE_MS = 30_000;
const RENEW_MS = 10_000;

/**
 * Enters this process in the register of live ones and keeps the entry alive.
 *
 * Two processes on different queues would each look healthy while jobs wait where nobody works, so a mismatch refuses to start.
 * @throws CodedError `QUEUE.MISMATCH` naming the process it clashes with.
 */
export async function registerProcess(pool: Pool, entry: ProcessEntry, log: Logger): Promise<RegisteredProcess> {
  const id = uuidv7();
  let canTell = await hasRegistryColumn(pool, "blockers");
  const consumers = (await hasRegistryColumn(pool, "consumers")) ? (entry.consumers ?? []) : null;
  const row = { ...entry, consumers, id, host: hostname(), pid: process.pid, aliveMs: ALIVE_MS };
  await transaction(pool, async (tx) => {
    const foreign = await findForeignQueues(tx, entry.queueBackend, entry.queuePrefix);
    const mismatch = findQueueMismatch(foreign, { kind: entry.queueBackend, prefix: entry.queuePrefix });
    if (mismatch !== null) throw mismatch;
    await insertProcess(tx, row);
    // In the same commit: a process that had not said yet would turn the others' mode away from pull for a moment.
    if (canTell) await reportBlockers(tx, id, entry.blockers ?? null);
  });
  const timer = setInterval(() => {
    renewProcess(pool, row).catch((error: unknown) =>
      log.warn({ error: describeError(error) }, "could not renew the entry of this process"),
    );
  }, RENEW_MS);
  timer.unref();
  return {
    id,
    async reportBlockers(blockers) {
      canTell ||= await hasRegistryColumn(pool, "blockers");
      if (canTell) await reportBlockers(pool, id, blockers);
    },
    async close() {
      clearInterval(timer);
      // An entry that cannot be deleted runs out by itself; leaving must not wait for the database.
      await deleteProcess(pool, id).catch((error: unknown) =>
        log.warn({ error: describeError(error) }, "could not delete the entry of this process"),
      );
    },
  };
}
