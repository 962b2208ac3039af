// Mostly waits: for time-outs.
import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { waitFor } from "@toolctrl/testkit/wait";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { describe, expect, onTestFinished, test } from "vitest";
import { letTimePass, openDatabase, readEvents, statuses } from "../support.ts";
import {
  attemptsOf,
  claimOne,
  collectLog,
  effectOf,
  gate,
  insertRecordEvents,
  mark,
  marks,
  openPull,
  preparePull,
  workersOf,
} from "../pull/support.ts";

const ATTEMPT = "test";
const HEARTBEAT = "test:heartbeat";

describe("a connection is lost", () => {
  test.each([
    ["the attempt's", [ATTEMPT]],
    ["the heartbeat's", [HEARTBEAT]],
    ["both", [ATTEMPT, HEARTBEAT]],
  ])("%s, while the effect runs: the event is settled once, by its owner", async (_name, apps) => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const [running, release] = [gate(), gate()];
    const workers = workersOf(
      database,
      [
        effectOf(async (tx, event) => {
          await mark(tx, event.id);
          running.open();
          await release.opened;
        }),
      ],
      { settings: { leaseMs: 1_500 } },
    );
    const attempt = workers.runOnce();
    await running.opened;
    // The heartbeat has a connection once it has prolonged the claim.
    await waitFor(() => sessionsOf(database, HEARTBEAT), { what: "the first heartbeat" });
    await breakSessions(database, apps);
    release.open();
    const settled = await attempt;
    const kept = apps.includes(ATTEMPT) ? "retry" : "done";
    expect(settled).toMatchObject({ fate: "kept", settlement: { outcome: kept } });
    expect(await marks(database)).toHaveLength(kept === "done" ? 1 : 0);
    expect(await readEvents(database)).toMatchObject([
      { status: kept === "done" ? "DONE" : "PENDING", attempts: 1, crashes: 0, lockToken: null },
    ]);
    await letTimePass(database);
    while ((await workers.runOnce()) !== null);
    expect(await marks(database)).toHaveLength(1);
    expect(await statuses(database)).toEqual({ DONE: 1 });
  });

  test("while both are lost the heartbeat goes on afterwards, and the claim is not reclaimed", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const [running, release] = [gate(), gate()];
    const effect = effectOf(async (_tx) => {
      running.open();
      await release.opened;
    });
    const workers = workersOf(database, [effect], { settings: { leaseMs: 2_000 } });
    const other = workersOf(database, [effect], { settings: { leaseMs: 2_000 } });
    const attempt = workers.runOnce();
    await running.opened;
    await waitFor(() => sessionsOf(database, HEARTBEAT), { what: "the first heartbeat" });
    await breakSessions(database, [HEARTBEAT]);
    const before = await lockedUntil(database);
    await waitFor(async () => (await lockedUntil(database)) > before, { what: "a heartbeat on a new connection" });
    expect(await other.runOnce()).toBeNull();
    release.open();
    expect(await attempt).toMatchObject({ fate: "kept", settlement: { outcome: "done" } });
  });

  test.each([
    ["the server gave it up", "retry", 0],
    ["the server had made it", "done", 1],
  ] as const)(
    "at the commit, whose outcome is then unknown (%s): the row tells, and the effect happens once",
    async (_name, outcome, effects) => {
      const { url } = await createTestDatabase();
      const proxy = await startTcpProxy({ toPort: Number(new URL(url).port) });
      const through = new URL(url);
      through.port = String(proxy.port);
      const [database, direct] = await Promise.all([openDatabase(through.href), openDatabase(url)]);
      onTestFinished(() => proxy.close());
      await preparePull(direct);
      await insertRecordEvents(direct, 1);
      // A commit that takes a while, in which its connection goes.
      await direct.pool.query(
        `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.7); RETURN NULL; END $$`,
      );
      await direct.pool.query(
        `CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON "Mark" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`,
      );
      const workers = workersOf(database, [effectOf((tx, event) => mark(tx, event.id))]);
      const attempt = workers.runOnce();
      await waitFor(() => committing(direct), { what: "the commit to begin" });
      if (outcome === "done") proxy.cut();
      else await breakSessions(direct, [ATTEMPT], "COMMIT%");
      expect(await attempt).toMatchObject({ fate: "kept", settlement: { outcome } });
      expect(await marks(direct)).toHaveLength(effects);
      await letTimePass(direct);
      await workers.runOnce();
      expect(await marks(direct)).toHaveLength(1);
      expect(await statuses(direct)).toEqual({ DONE: 1 });
    },
  );

  test("a commit that a deferred constraint refuses is a failure like any other", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    await database.pool.query(`ALTER TABLE "Mark" ADD COLUMN "parent" text REFERENCES "Parent" DEFERRABLE INITIALLY DEFERRED`);
    const workers = workersOf(database, [
      effectOf(async (tx) => void (await tx.$executeRawUnsafe(`INSERT INTO "Mark" ("text", "parent") VALUES ('x', 'nobody')`))),
    ]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry", errorCode: "23503" } });
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", retries: 1, attempts: 1 }]);
  });

  test("no connection comes free for an attempt: the effect does not run, and nothing is counted", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const attempts = attemptsOf(database, [effectOf((tx, event) => mark(tx, event.id))]);
    const event = await claimOne(database);
    const held = await Promise.all(Array.from({ length: 20 }, () => database.pool.connect()));
    const settled = await attempts.run(event);
    for (const client of held) client.release();
    expect(settled).toMatchObject({ fate: "kept", settlement: { outcome: "snooze", errorCode: "DB.POOL_TIMEOUT" } });
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", attempts: 1, retries: 0 }]);
    expect(await marks(database)).toEqual([]);
  });
});

test("while the server takes no writes nothing is counted against an event that was claimed before", async () => {
  const { url } = await createTestDatabase();
  const database = await openDatabase(url);
  await preparePull(database);
  await insertRecordEvents(database, 1);
  const { prisma } = await openDatabase(`${url}?options=-c%20default_transaction_read_only%3Don`);
  const attempts = attemptsOf({ ...database, prisma }, [effectOf((tx, event) => mark(tx, event.id))]);
  expect(await attempts.run(await claimOne(database))).toMatchObject({
    fate: "kept",
    settlement: { outcome: "snooze", errorCode: "25006" },
  });
  expect(await readEvents(database)).toMatchObject([{ status: "PENDING", attempts: 1, retries: 0, crashes: 0 }]);
  expect(await marks(database)).toEqual([]);
});

describe("a lease is lost", () => {
  test("while the effect runs: its signal aborts, its client is revoked, and nothing of the attempt is kept", async () => {
    const database = await openPull();
    const [id = ""] = await insertRecordEvents(database, 1);
    const running = gate();
    const { log, messages } = collectLog();
    let late: unknown;
    const workers = workersOf(
      database,
      [
        effectOf(async (tx, event, signal) => {
          await mark(tx, event.id, "zombie");
          running.open();
          await new Promise((resolve) => signal?.addEventListener("abort", resolve));
          late = await Promise.resolve()
            .then(() => mark(tx, event.id, "later"))
            .catch((error: unknown) => error);
        }),
      ],
      { settings: { leaseMs: 900 }, log },
    );
    const attempt = workers.runOnce();
    await running.opened;
    await database.pool.query(`UPDATE "OutboxEvent" SET "lockToken" = $2 WHERE "id" = $1`, [id, randomUUID()]);
    expect(await attempt).toMatchObject({ fate: "lost" });
    expect(late).toMatchObject({ code: "DB.LEASE_LOST" });
    expect(await marks(database)).toEqual([]);
    expect(await readEvents(database)).toMatchObject([{ status: "PROCESSING", retries: 0 }]);
    expect(messages().some((message) => message.includes("lease lost"))).toBe(true);
  });

  test("a claim that was moved in SQL is not settled by its old attempt, whether it fails or succeeds", async () => {
    const database = await openPull();
    for (const outcome of ["succeeds", "fails"]) {
      const [id = ""] = await insertRecordEvents(database, 1, { record: outcome });
      const token = randomUUID();
      const workers = workersOf(database, [
        effectOf(async (tx, event) => {
          await mark(tx, event.id);
          await database.pool.query(`UPDATE "OutboxEvent" SET "lockToken" = $2 WHERE "id" = $1`, [event.id, token]);
          if (outcome === "fails") throw new Error("too late");
        }),
      ]);
      expect(await workers.runOnce()).toMatchObject({ fate: "lost" });
      expect(await readEvents(database, [id])).toMatchObject([{ status: "PROCESSING", lockToken: token, retries: 0, lastError: null }]);
    }
    expect(await marks(database)).toEqual([]);
  });

  test("of a stopped attempt: the new owner gets on once the server ends the old transaction, and the old one settles nothing", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const [running, release] = [gate(), gate()];
    let runs = 0;
    const effect = effectOf(async (tx, event) => {
      runs += 1;
      await tx.$executeRawUnsafe(
        `INSERT INTO "Parent" ("id", "value") VALUES ('p', 1) ON CONFLICT ("id") DO UPDATE SET "value" = "Parent"."value" + 1`,
      );
      await mark(tx, event.id);
      if (runs > 1) return;
      running.open();
      await release.opened;
    });
    // Stopped: its event runs, its heartbeat does not.
    const stopped = workersOf(database, [effect], { settings: { idleInTransactionMs: 700, leaseMs: 86_400_000 } });
    const old = stopped.runOnce();
    await running.opened;
    await letTimePass(database);
    const owner = workersOf(database, [effect]);
    const outcomes: string[] = [];
    await waitFor(
      async () => {
        const settled = await owner.runOnce();
        if (settled !== null) outcomes.push(settled.settlement.outcome);
        return outcomes.at(-1) === "done";
      },
      { what: "the new owner to get the row lock", timeoutMs: 20_000 },
    );
    release.open();
    expect(await old).toMatchObject({ fate: "lost" });
    expect(outcomes.slice(0, -1).every((outcome) => outcome === "snooze")).toBe(true);
    expect(await marks(database)).toHaveLength(1);
    expect(await readEvents(database)).toMatchObject([{ status: "DONE", retries: 0, crashes: 1 }]);
  });
});

async function sessionsOf(database: Database, app: string): Promise<number> {
  const { rows } = await database.pool.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`,
    [app],
  );
  return rows[0]?.n ?? 0;
}

async function breakSessions(database: Database, apps: readonly string[], query = "%"): Promise<void> {
  await database.pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = ANY($1) AND pid <> pg_backend_pid() AND query LIKE $2`,
    [apps, query],
  );
}

async function committing(database: Database): Promise<boolean> {
  const { rows } = await database.pool.query(
    `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND query = 'COMMIT'`,
  );
  return rows.length > 0;
}

async function lockedUntil(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ at: Date }>(`SELECT "lockedUntil" AS at FROM "OutboxEvent" WHERE "status" = 'PROCESSING'`);
  return rows[0]?.at.getTime() ?? 0;
}
