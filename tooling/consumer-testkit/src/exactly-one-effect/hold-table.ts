import { waitFor } from "@toolctrl/testkit/wait";
import type { Installation } from "../installation.ts";

export interface HeldTable {
  /** Sessions that wait for a lock. */
  waiting(): Promise<number>;
  untilWaiting(sessions: number): Promise<void>;
  /** Lets go; does nothing the second time. */
  release(): Promise<void>;
}

/** Locks a table of an installation's own database until it is told to let go. */
export async function holdTable({ database }: Installation, table: string): Promise<HeldTable> {
  const client = await database.pool.connect();
  await client.query(`BEGIN; LOCK TABLE "${table}" IN ACCESS EXCLUSIVE MODE`);
  let released: Promise<void> | undefined;
  const waiting = async (): Promise<number> => {
    const { rowCount } = await database.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount ?? 0;
  };
  return {
    waiting,
    async untilWaiting(sessions) {
      await waitFor(async () => (await waiting()) === sessions, {
        what: `${sessions} handler(s) to wait for ${table}`,
        timeoutMs: 20_000,
      });
    },
    release: () => (released ??= client.query("COMMIT").then(() => client.release())),
  };
}
