import type { Database } from "@toolctrl/db/client";
import { convertLead } from "@toolctrl/domain/leads";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { closeGate } from "./gate.ts";
import { eventsOf, IN_TX, openPullRig, TENANT, untilDone } from "./pull-support.ts";

async function convertNewLead(database: Database): Promise<string> {
  const { rows } = await database.pool.query<{ id: string }>(
    `INSERT INTO "Lead" ("id", "tenantId", "name") VALUES (gen_random_uuid(), $1, 'Ann') RETURNING "id"`,
    [TENANT],
  );
  return (await database.prisma.$transaction((tx) => convertLead(tx, { tenantId: TENANT, leadId: rows[0]?.id ?? "" }), IN_TX)).eventId;
}

/** Sessions of pull workers that hold a transaction open and do nothing. */
const IDLE = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pull' AND state = 'idle in transaction'`;

async function rowsOf({ pool }: Database): Promise<unknown> {
  const { rows } = await pool.query(
    `SELECT (SELECT jsonb_agg(to_jsonb(o) ORDER BY o."number") FROM "Opportunity" o) AS "opportunities", (SELECT "value"::int FROM "TenantCounter") AS "drawn",
       (SELECT jsonb_agg(to_jsonb(e) ORDER BY e."position") FROM "OutboxEvent" e) AS "events"`,
  );
  return rows[0];
}

test(
  "a process stopped past its lease in the middle of an effect: the new owner gets the row once the server ends the idle transaction, and the old one settles nothing when it goes on",
  { timeout: 120_000 },
  async () => {
    const { database, start } = await openPullRig();
    const gate = await closeGate({ database }, `BEFORE INSERT ON "Opportunity" FOR EACH ROW`);
    const stopped = await start({ PARALLELISM: "1" });
    const eventId = await convertNewLead(database);
    await gate.untilWaiting(1);
    stopped.kill("SIGSTOP");
    // Its statement ends without it: from now on its transaction is idle, and holds the lead and the counter.
    await gate.open();
    await waitFor(async () => (await database.pool.query(IDLE)).rowCount === 1, { what: "the stopped process's transaction to be idle" });
    const owner = await start({ PARALLELISM: "2" });
    await waitFor(async () => (await eventsOf(database, [eventId])).some(({ attempts }) => attempts > 1), {
      timeoutMs: 20_000,
      what: "the event to be claimed again",
    });
    await untilDone(database, [eventId]);
    const [event] = await eventsOf(database, [eventId]);
    expect(event).toMatchObject({ retries: 0, crashes: 1 });
    const settled = await rowsOf(database);
    expect(settled).toMatchObject({ opportunities: [{ number: 1 }], drawn: 1 });

    stopped.kill("SIGCONT");
    await stopped.waitForLine(new RegExp(`"eventId":"${eventId}".*lease lost`));
    expect(await rowsOf(database)).toEqual(settled);
    owner.kill("SIGTERM");
    expect(await owner.waitForExit()).toEqual({ code: 0, signal: null });
    // It works on.
    await convertNewLead(database);
    await untilDone(database);
    expect(await rowsOf(database)).toMatchObject({ opportunities: [{ number: 1 }, { number: 2 }], drawn: 2 });
    stopped.kill("SIGTERM");
    expect(await stopped.waitForExit()).toEqual({ code: 0, signal: null });
  },
);
