import { waitFor } from "@toolctrl/testkit/wait";
import type { Rig } from "./rig.ts";

export interface Gate {
  /** Waits until so many statements stand at the gate. */
  untilWaiting(count: number): Promise<void>;
  /** Ends the sessions that stand at the gate, as the server does once it notices that their process is gone. */
  dropWaiting(): Promise<void>;
  open(): Promise<void>;
}

const WAITING = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;

/**
 * Makes every write that a trigger's head names, such as `BEFORE INSERT ON "Notification" FOR EACH ROW`, wait inside its transaction
 * until the gate opens. Unlike a lock it never times out, so a test decides alone how long a process stays there.
 */
export async function closeGate(rig: Pick<Rig, "database">, trigger: string): Promise<Gate> {
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
      await waitFor(async () => (await pool.query(`SELECT 1 ${WAITING}`)).rowCount === count, {
        timeoutMs: 20_000,
        what: `${count} statements at the gate`,
      });
    },
    dropWaiting: async () => void (await pool.query(`SELECT pg_terminate_backend(pid) ${WAITING}`)),
    open: async () => void (await pool.query(`DELETE FROM "Gate"`)),
  };
}
