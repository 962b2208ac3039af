import { waitFor } from "@toolctrl/testkit/wait";
import type { Rig } from "./rig.ts";

export interface Gate {
  /** Waits until so many statements stand at the gate. */
  untilWaiting(count: number): Promise<void>;
  open(): Promise<void>;
}

/**
 * Makes every write that a trigger's head names, such as `BEFORE INSERT ON "Notification" FOR EACH ROW`, wait inside its transaction
 * until the gate opens. Unlike a lock it never times out, so a test decides alone how long a process stays there.
 */
export async function closeGate(rig: Rig, trigger: string): Promise<Gate> {
  const { pool } = rig.database;
  await pool.query(`
    CREATE TABLE "Gate" AS SELECT 1 AS closed;
    CREATE FUNCTION "wait_at_gate"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      WHILE EXISTS (SELECT 1 FROM "Gate") LOOP PERFORM pg_sleep(0.02); END LOOP;
      RETURN NEW;
    END $$`);
  await pool.query(`CREATE TRIGGER "gate" ${trigger} EXECUTE FUNCTION "wait_at_gate"()`);
  return {
    async untilWaiting(count) {
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
      await waitFor(async () => (await pool.query(waiting)).rowCount === count, {
        timeoutMs: 20_000,
        what: `${count} statements at the gate`,
      });
    },
    open: async () => void (await pool.query(`DELETE FROM "Gate"`)),
  };
}
