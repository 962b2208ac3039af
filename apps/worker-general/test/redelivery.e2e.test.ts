import type { Database } from "@toolctrl/db/client";
import { convertLead, createLead } from "@toolctrl/domain/leads";
import { readRow } from "@toolctrl/domain/rows";
import { createRouter } from "@toolctrl/event-router/router";
import { requeueEvents } from "@toolctrl/outbox-drainer/actions";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { closeGate, type Gate } from "./gate.ts";
import { loseLeases } from "./observe.ts";
import { createRow, eventsOf, IN_TX, renameRow, startPullApp, TENANT, untilDone } from "./pull-support.ts";
import { openInstallation, type Installation } from "./support.ts";
import type { Worker } from "./worker.ts";

/** Writes down what was set, in the transaction that set it. */
async function logFields({ pool }: Database): Promise<void> {
  await pool.query(`
    CREATE TABLE "FieldLog" ("n" bigserial, "rowId" uuid, "field" text, "set" text, "position" bigint);
    CREATE FUNCTION "logField"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO "FieldLog" ("rowId", "field", "set", "position")
      VALUES (NEW."rowId", NEW."field", COALESCE(NEW."lookupId"::text, NEW."value" #>> '{}'), NEW."appliedPosition");
      RETURN NULL;
    END $$;
    CREATE TRIGGER "logField" AFTER INSERT OR UPDATE ON "RowField" FOR EACH ROW EXECUTE FUNCTION "logField"()`);
}

/** Stops every effect before its first write. */
async function stopEffects(database: Database): Promise<Gate> {
  const gate = await closeGate({ database }, `BEFORE INSERT ON "RowField" FOR EACH ROW`);
  await database.pool.query(`CREATE TRIGGER "gate" BEFORE INSERT ON "Opportunity" FOR EACH ROW EXECUTE FUNCTION "wait_at_gate"()`);
  return gate;
}

const newLead = (database: Database, name: string): Promise<string> =>
  database.prisma.$transaction((tx) => createLead(tx, { tenantId: TENANT, name }), IN_TX);
const convert = (database: Database, leadId: string) =>
  database.prisma.$transaction((tx) => convertLead(tx, { tenantId: TENANT, leadId }), IN_TX);

/** Changes rows and converts a lead, whose effects all stand at the gate; then changes the rows again. */
async function saveAndChange(database: Database, gate: Gate) {
  const { row: root } = await createRow(database, "account", "root");
  const { row: child } = await createRow(database, "deal", "first", root);
  const leadId = await newLead(database, "ann");
  const conversions = await Promise.all([convert(database, leadId), convert(database, leadId)]);
  expect(new Set(conversions.map(({ eventId }) => eventId)).size).toBe(1);
  await gate.untilWaiting(3);
  await renameRow(database, child, "second");
  const { row: sibling } = await createRow(database, "deal", "sibling", root);
  await gate.untilWaiting(4);
  return { root, child, sibling };
}

/** Each attempt's process dies, and another one has the events again. */
async function killAndRedeliver(installation: Installation, gate: Gate, first: Worker): Promise<Worker[]> {
  first.kill("SIGKILL");
  await first.waitForExit();
  await gate.dropWaiting();
  await installation.database.pool.query(`UPDATE "OutboxDrainer" SET "aliveUntil" = clock_timestamp()`);
  const second = await startPullApp(installation);
  await loseLeases(installation);
  await gate.untilWaiting(4);
  return [second];
}

/** Each attempt is overtaken by another one of its event, so that two of each run at the same time. */
async function overtake(installation: Installation, _gate: Gate, first: Worker): Promise<Worker[]> {
  const second = await startPullApp(installation);
  await loseLeases(installation);
  const twice = async (): Promise<boolean> => (await eventsOf(installation.database)).filter(({ attempts }) => attempts >= 2).length === 4;
  await waitFor(twice, { timeoutMs: 30_000, what: "all four to be claimed again" });
  return [first, second];
}

const VALUES_NOT_OF_SNAPSHOTS = `
  SELECT l."field", l."set" FROM "FieldLog" l LEFT JOIN "OutboxEvent" e ON e."position" = l."position"
  WHERE l."set" IS DISTINCT FROM CASE l."field" WHEN 'latestChild' THEN e."payload" #>> '{after,id}' ELSE e."payload" #>> '{after,data,name}' END`;
const SET_OUT_OF_ORDER = `
  SELECT * FROM (SELECT "rowId", "field", "position", lag("position") OVER (PARTITION BY "rowId", "field" ORDER BY "n") AS "before" FROM "FieldLog") x
  WHERE "position" <= "before"`;

async function opportunities({ pool }: Database): Promise<unknown> {
  const { rows } = await pool.query(
    `SELECT array_agg("number"::int ORDER BY "number") AS "numbers", (SELECT "value"::int FROM "TenantCounter") AS "drawn" FROM "Opportunity"`,
  );
  return rows[0];
}

/** Sends all events out again; without receipts, so that nothing but the effects themselves keeps them from a second time. */
async function redeliverAll(database: Database): Promise<void> {
  await database.pool.query(`DELETE FROM "OutboxReceipt"`);
  const ids = (await eventsOf(database)).map(({ id }) => id);
  const { events } = await requeueEvents({ pool: database.pool, router: createRouter() }, { ids, actor: "test" });
  expect(new Set(events.map(({ outcome }) => outcome))).toEqual(new Set(["requeued"]));
  await untilDone(database);
}

describe.each([
  ["again after its process was killed", killAndRedeliver],
  ["twice at the same time, by two processes", overtake],
] as const)("an event delivered late, and %s", (_how, redeliver) => {
  test(
    "sets the field and the lookup of its snapshot, never over a younger one's, and makes one opportunity without burning a number",
    { timeout: 120_000 },
    async () => {
      const installation = await openInstallation();
      const { database } = installation;
      await logFields(database);
      const gate = await stopEffects(database);
      const first = await startPullApp(installation);
      const { root, child, sibling } = await saveAndChange(database, gate);
      const workers = await redeliver(installation, gate, first);
      await gate.open();
      await untilDone(database);

      const check = async (): Promise<void> => {
        expect((await database.pool.query(VALUES_NOT_OF_SNAPSHOTS)).rows).toEqual([]);
        expect((await database.pool.query(SET_OUT_OF_ORDER)).rows).toEqual([]);
        const { rows } = await database.pool.query(`SELECT "set" FROM "FieldLog" WHERE "rowId" = $1 ORDER BY "n"`, [child.id]);
        expect(rows).toEqual([{ set: "first" }, { set: "second" }]);
        const fields = { label: "root", latestChild: sibling.id, latestChildLabel: "sibling" };
        expect(await readRow(database.prisma, root)).toMatchObject({ fields });
        expect(await opportunities(database)).toEqual({ numbers: [1], drawn: 1 });
      };
      await check();
      expect((await eventsOf(database)).filter(({ retries }) => retries > 0)).toEqual([]);
      await redeliverAll(database);
      await check();

      await convert(database, await newLead(database, "bob"));
      await untilDone(database);
      expect(await opportunities(database)).toEqual({ numbers: [1, 2], drawn: 2 });
      for (const worker of workers) worker.kill("SIGTERM");
      expect(await Promise.all(workers.map((worker) => worker.waitForExit()))).toEqual(workers.map(() => ({ code: 0, signal: null })));
    },
  );
});
