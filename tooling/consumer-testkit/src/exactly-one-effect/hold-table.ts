import { waitFor } from "@toolctrl/testkit/wait";
import type { Installation } from "../installation.ts";

export interface HeldTable {
  /** Whether exactly one session waits for a lock. */
  somebodyWaits(): Promise<boolean>;
  untilSomebodyWaits(): Promise<void>;
  /** Lets go; does nothing the second time. */
  release(): Promise<void>;
}

/** Locks a table of an installation's own database until it is told to let go. */
export async function holdTable({ database }: Installation, table: string): Promise<HeldTable> {
  const client = await database.pool.connect();
  await client.query(`BEGIN; LOCK TABLE "${table}" IN ACCESS EXCLUSIVE MODE`);
  let released: Promise<void> | undefined;
  const somebodyWaits = async (): Promise<boolean> => {
    const { rowCount } = await database.pool.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rowCount === 1;
  };
  return {
    somebodyWaits,
    async untilSomebodyWaits() {
      await waitFor(somebodyWaits, { what: `a handler to wait for ${table}`, timeoutMs: 20_000 });
    },
    release: () => (released ??= client.query("COMMIT").then(() => client.release())),
  };
}
