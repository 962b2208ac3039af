import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvents } from "@toolctrl/db/outbox";
import { randomFrom, seedOf, startHerd } from "@toolctrl/testkit/herd";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { statuses } from "../support.ts";
import { preparePull } from "./support.ts";

/** Fewer for a quick look. */
const EVENTS = Number(process.env["ORDER_EVENTS"] ?? 10_000);
const RECORDS = 50;
const WRITERS = 20;
const PROCESSES = 4;
/** A process that is killed as soon as it has started drains nothing. */
const KILL_EVERY_MS = 3_000;
const IN_TX = { maxWait: 60_000, timeout: 60_000 };

async function startProcess(url: string): Promise<ChildHandle> {
  const child = spawnNode(new URL("./order-process.ts", import.meta.url), { env: { DATABASE_URL: url } });
  await child.waitForLine(/^drains$/, { timeoutMs: 60_000 });
  return child;
}

/** Locks the record, draws its next turns under that lock, and publishes an event for each. */
async function write(database: Database, record: string, turns: number): Promise<void> {
  await database.prisma.$transaction(async (tx) => {
    const rows = await tx.$queryRawUnsafe<Array<{ last: number }>>(
      `UPDATE "Parent" SET "value" = "value" + $2::int WHERE "id" = $1 RETURNING "value" AS "last"`,
      record,
      turns,
    );
    const first = (rows[0]?.last ?? 0) - turns + 1;
    const events = Array.from({ length: turns }, (_, n) => ({
      tenantId: `tenant-${Number(record) % 3}`,
      type: "record.lead.updated",
      payload: { object: "Lead", recordId: record, turn: first + n },
    }));
    await publishOutboxEvents(tx, events);
  }, IN_TX);
}

/** Many writers that write at random records until all events are published. */
async function writeAll(database: Database, random: () => number): Promise<void> {
  let left = EVENTS;
  const writer = async (): Promise<void> => {
    while (left > 0) {
      const turns = Math.min(left, 1 + Math.floor(random() * 8));
      left -= turns;
      await write(database, String(Math.floor(random() * RECORDS)), turns);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
}

/** Effects out of their turn: of a record the n-th effect has to be that of its n-th turn, and its position above the one before. */
const OUT_OF_TURN = `
  SELECT * FROM (
    SELECT "record", "turn", "position", row_number() OVER line AS "expected", lag("position") OVER line AS "before"
    FROM "Effect" WINDOW line AS (PARTITION BY "record" ORDER BY "n")
  ) x WHERE "turn" <> "expected" OR "position" <= "before" ORDER BY "record", "expected" LIMIT 5`;

test(
  "20 writers over 50 records, 4 processes, one killed every three seconds: each record's effects happen in the order of its locks, each once",
  { timeout: 720_000 },
  async () => {
    const seed = seedOf("ORDER_SEED");
    const { url } = await createTestDatabase();
    const database = await createDatabase({ url, poolMax: WRITERS + 2, app: "test", wakeup: false });
    onTestFinished(() => database.close());
    await preparePull(database);
    await database.pool.query(`CREATE TABLE "Effect" ("n" bigserial, "record" text, "turn" int, "position" bigint)`);
    await database.pool.query(`INSERT INTO "Parent" ("id") SELECT n FROM generate_series(0, $1::int - 1) n`, [RECORDS]);
    // The writers' connections are opened before the processes start: beside them a connection may not come up in time.
    for (const client of await Promise.all(Array.from({ length: WRITERS }, () => database.pool.connect()))) client.release();
    const herd = await startHerd({ size: PROCESSES, start: () => startProcess(url), killEveryMs: KILL_EVERY_MS, random: randomFrom(seed) });
    const begun = performance.now();
    await writeAll(database, randomFrom(seed + 1));
    const written = performance.now();
    await waitFor(async () => (await statuses(database)).DONE === EVENTS, {
      what: `every event to be DONE (seed ${seed})`,
      timeoutMs: 600_000,
    });
    const drained = performance.now();
    const exits = await herd.stop();

    const { rows } = await database.pool.query(OUT_OF_TURN);
    expect(rows, `seed ${seed}`).toEqual([]);
    const { rows: totals } = await database.pool.query<{ effects: number; turns: number; crashed: number }>(
      `SELECT (SELECT count(*)::int FROM "Effect") AS "effects", (SELECT sum("value")::int FROM "Parent") AS "turns",
         (SELECT count(*)::int FROM "OutboxEvent" WHERE "crashes" > 0) AS "crashed"`,
    );
    expect(totals).toMatchObject([{ effects: EVENTS, turns: EVENTS }]);
    // Nobody ended by itself, and the kills met work.
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
    expect(totals[0]?.crashed).toBeGreaterThan(0);
    const seconds = (until: number): string => ((until - begun) / 1000).toFixed(1);
    process.stdout.write(
      `${EVENTS} events: written in ${seconds(written)} s, drained in ${seconds(drained)} s, ${herd.kills()} kills, ${totals[0]?.crashed} events lost a lease\n`,
    );
  },
);
