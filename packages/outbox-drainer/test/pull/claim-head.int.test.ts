import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import { violatedConstraint } from "@toolctrl/db/client";
import { describe, expect, onTestFinished, test } from "vitest";
import { claimHead, type HeadClaim } from "../../src/pull/claim-head.ts";
import { releaseExpired } from "../../src/pull/release-expired.ts";
import { settleEvents } from "../../src/sql/settle-events.ts";
import { insertEvents, letTimePass, readEvents } from "../support.ts";
import { claimOne, headRequest as request, insertRecordEvents, openPull } from "./support.ts";

const idOf = (claim: HeadClaim): string | null => (claim.kind === "claimed" ? claim.event.id : null);
const settle = (database: Database, claim: HeadClaim, outcome: "done" | "dead", parks = false) => {
  if (claim.kind !== "claimed") throw new Error(`expected a claim, got ${claim.kind}`);
  const { id, lockToken } = claim.event;
  const settlement = outcome === "done" ? { id, lockToken, outcome } : { id, lockToken, outcome, errorCode: "X", error: "x", parks };
  return settleEvents(database.pool, [settlement]);
};

describe("eligibility", () => {
  test("only the head of a line is claimed, and its follower once the head is settled", async () => {
    const database = await openPull();
    const [first, second] = await insertRecordEvents(database, 2);
    const [other] = await insertRecordEvents(database, 1, { record: "2" });
    const claims = [
      await claimHead(database.pool, request()),
      await claimHead(database.pool, request()),
      await claimHead(database.pool, request()),
    ];
    expect(claims.map(idOf)).toEqual([first, other, null]);
    await settle(database, claims[0] as HeadClaim, "done");
    expect(idOf(await claimHead(database.pool, request()))).toBe(second);
  });

  test("the same record of another tenant is another line, and an event without a record is a line of its own", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1, { tenantId: "a" });
    await insertRecordEvents(database, 1, { tenantId: "b" });
    await insertEvents(database, 3, { type: "record.lead.updated" });
    const claimed = new Set<string | null>();
    for (let n = 0; n < 6; n += 1) claimed.add(idOf(await claimHead(database.pool, request())));
    expect(claimed.size).toBe(6);
    expect(claimed.has(null)).toBe(true);
  });

  test("a head that waits for its backoff holds its line, and no other", async () => {
    const database = await openPull();
    const [head = ""] = await insertRecordEvents(database, 2, { delay: "-1 minute" });
    const [other] = await insertRecordEvents(database, 1, { record: "2" });
    await database.pool.query(`UPDATE "OutboxEvent" SET "scheduledAt" = clock_timestamp() + interval '1 hour' WHERE "id" = $1`, [head]);
    expect(idOf(await claimHead(database.pool, request()))).toBe(other);
    expect(await claimHead(database.pool, request())).toMatchObject({ kind: "none" });
  });

  test("a dead head lets its line go on; one that parks holds it until it is released", async () => {
    const database = await openPull();
    const [, next] = await insertRecordEvents(database, 2, { record: "continue" });
    await insertRecordEvents(database, 2, { record: "park" });
    await settle(database, await claimHead(database.pool, request()), "dead");
    await settle(database, await claimHead(database.pool, request({ afterTenant: "acme" })), "done");
    const parking = await claimHead(database.pool, request());
    await settle(database, parking, "dead", true);
    expect(await readEvents(database, [next ?? ""])).toMatchObject([{ status: "DONE" }]);
    expect(await claimHead(database.pool, request())).toMatchObject({ kind: "none" });
    await database.pool.query(`UPDATE "OutboxEvent" SET "blocksLine" = false WHERE "status" = 'FAILED'`);
    expect(await claimHead(database.pool, request())).toMatchObject({ kind: "claimed", event: { recordKey: "Lead/park" } });
  });

  test("nothing is claimed under an old epoch, in another mode, or while a switch is under way", async () => {
    const database = await openPull();
    const [id = ""] = await insertRecordEvents(database, 1);
    await insertRecordEvents(database, 1, { record: "expired" });
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'pull', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() WHERE "id" <> $1`,
      [id],
    );
    expect(await claimHead(database.pool, request({ epoch: 2n }))).toEqual({ kind: "closed" });
    for (const [mode, desired] of [
      ["pull", "batch"],
      ["batch", "pull"],
      ["batch", "batch"],
    ]) {
      await database.pool.query(`UPDATE "OutboxMode" SET "mode" = $1, "desired" = $2`, [mode, desired]);
      expect(await claimHead(database.pool, request())).toEqual({ kind: "closed" });
      expect(await releaseExpired(database.pool, { epoch: 1n, crashBudget: 6, leaseMs: 1, lockToken: randomUUID() })).toEqual([]);
    }
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", attempts: 0 }, { status: "PROCESSING" }]);
  });

  test("an event that commits after a younger one of another record is claimed by the next claim", async () => {
    const database = await openPull();
    const slow = await database.pool.connect();
    onTestFinished(() => slow.release());
    await slow.query("BEGIN");
    const late = randomUUID();
    await slow.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload") VALUES ($1, 'acme', 'record.lead.updated', '{"object":"Lead","recordId":"late"}')`,
      [late],
    );
    const [early] = await insertRecordEvents(database, 1);
    expect(idOf(await claimHead(database.pool, request()))).toBe(early);
    await slow.query("COMMIT");
    expect(idOf(await claimHead(database.pool, request()))).toBe(late);
  });

  test("under every join and aggregate plan, one claim takes one event and heads only", async () => {
    const database = await openPull();
    for (let record = 0; record < 20; record += 1) await insertRecordEvents(database, 2, { record: String(record) });
    const session = await database.pool.connect();
    onTestFinished(() => session.release());
    const planners = [
      "enable_hashjoin",
      "enable_mergejoin",
      "enable_hashagg",
      "enable_sort",
      "enable_material",
      "enable_nestloop",
      "enable_indexscan",
    ];
    for (let mask = 0; mask < 2 ** planners.length; mask += 7) {
      for (const [bit, name] of planners.entries()) await session.query(`SET ${name} = ${(mask >> bit) & 1 ? "off" : "on"}`);
      const claim = await claimHead(session, request());
      const { rows } = await session.query(`SELECT "recordKey" FROM "OutboxEvent" WHERE "status" = 'PROCESSING'`);
      expect(rows, `planner mask ${mask}`).toHaveLength(1);
      await settle(database, claim, "done");
    }
    await session.query("RESET ALL");
    const { rows } = await database.pool.query(
      `SELECT FROM "OutboxEvent" a JOIN "OutboxEvent" b ON a."recordKey" = b."recordKey" AND a."position" < b."position"
       WHERE b."status" = 'DONE' AND a."status" <> 'DONE'`,
    );
    expect(rows).toEqual([]);
  });
});

describe("the unique index", () => {
  test("an older event that comes back waits for the younger one in flight", async () => {
    const database = await openPull();
    const [first = "", second] = await insertRecordEvents(database, 2);
    await settle(database, await claimHead(database.pool, request()), "dead");
    const younger = await claimHead(database.pool, request());
    expect(idOf(younger)).toBe(second);
    await requeue(database, first);
    const [other] = await insertRecordEvents(database, 1, { record: "2" });
    expect(idOf(await claimHead(database.pool, request()))).toBe(other);
    expect(await claimHead(database.pool, request())).toMatchObject({ kind: "none" });
    await settle(database, younger, "done");
    expect(idOf(await claimHead(database.pool, request()))).toBe(first);
  });

  test("a requeue that races a claim never puts two events of a line in flight", async () => {
    const database = await openPull();
    for (let round = 0; round < 20; round += 1) {
      const records = Array.from({ length: 10 }, (_, n) => `${round}-${n}`);
      for (const record of records) await insertRecordEvents(database, 2, { record });
      for (const _ of records) await settle(database, await claimHead(database.pool, request()), "dead");
      const dead = (await readEvents(database)).filter((row) => row.status === "FAILED").map((row) => row.id);
      const claimAll = async (): Promise<void> => {
        for (let n = 0; n < 12; n += 1) {
          await claimHead(database.pool, request()).catch((error: unknown) => {
            if (violatedConstraint(error) !== "OutboxEvent_in_flight_key") throw error;
          });
        }
      };
      await Promise.all([claimAll(), claimAll(), ...dead.map((id) => requeue(database, id))]);
      const { rows } = await database.pool.query(
        `SELECT "recordKey" FROM "OutboxEvent" WHERE "status" = 'PROCESSING' GROUP BY 1 HAVING count(*) > 1`,
      );
      expect(rows).toEqual([]);
      await database.pool.query(`TRUNCATE "OutboxEvent"`);
    }
  });

  test("it is the index that stops the claim whose snapshot is older than the requeue", async () => {
    const database = await openPull();
    const [first = ""] = await insertRecordEvents(database, 2);
    await settle(database, await claimHead(database.pool, request()), "dead");
    // The follower's claim looks, then waits for the mode row, which it locks first: here its snapshot is older than what follows.
    const blocker = await database.pool.connect();
    onTestFinished(() => blocker.release());
    await blocker.query(`BEGIN`);
    await blocker.query(`SELECT FROM "OutboxMode" FOR UPDATE`);
    const follower = claimHead(database.pool, request()).catch((error: unknown) => violatedConstraint(error));
    await untilBlocked(database);
    await requeue(database, first);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'pull', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() + interval '1 minute' WHERE "id" = $1`,
      [first],
    );
    await blocker.query(`COMMIT`);
    expect(await follower).toBe("OutboxEvent_in_flight_key");
  });
});

describe("expired claims", () => {
  test("of any drainer are given back and claimed alone, heads first", async () => {
    const database = await openPull();
    const ids = await insertRecordEvents(database, 3);
    await database.pool.query(
      `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "attempts" = 1, "claimMode" = 'batch', "lockToken" = gen_random_uuid(),
         "lockedUntil" = clock_timestamp() - "position" * interval '1 second'`,
    );
    const released = await releaseExpired(database.pool, { epoch: 1n, crashBudget: 6, leaseMs: 60_000, lockToken: randomUUID() });
    expect(released.map(({ crashes, exhausted }) => [crashes, exhausted])).toEqual([0, 1, 2].map(() => [0, false]));
    const order: Array<string | null> = [];
    for (let n = 0; n < 3; n += 1) {
      const claim = await claimHead(database.pool, request());
      order.push(idOf(claim));
      await settle(database, claim, "done");
    }
    expect(order).toEqual(ids);
    expect(new Set((await readEvents(database)).map((row) => `${row.attempts} ${row.crashes}`))).toEqual(new Set(["2 0"]));
  });

  test("an expired head is claimable beside its waiting follower, which stays behind it", async () => {
    const database = await openPull();
    const [head] = await insertRecordEvents(database, 2);
    await claimOne(database);
    await letTimePass(database);
    await releaseExpired(database.pool, { epoch: 1n, crashBudget: 6, leaseMs: 60_000, lockToken: randomUUID() });
    expect(idOf(await claimHead(database.pool, request()))).toBe(head);
    expect(await claimHead(database.pool, request())).toMatchObject({ kind: "none" });
  });

  test("a live lease is never given back, whatever the clock of the process says, and a zombie changes nothing", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const zombie = await claimOne(database);
    const realNow = Date.now;
    Date.now = () => realNow() + 600_000;
    onTestFinished(() => void (Date.now = realNow));
    const release = () => releaseExpired(database.pool, { epoch: 1n, crashBudget: 6, leaseMs: 60_000, lockToken: randomUUID() });
    expect(await release()).toEqual([]);
    await letTimePass(database);
    expect(await release()).toMatchObject([{ id: zombie.id, crashes: 1, exhausted: false }]);
    const late = { id: zombie.id, lockToken: zombie.lockToken, outcome: "dead", errorCode: "X", error: "late" } as const;
    expect(await settleEvents(database.pool, [late])).toEqual(new Set());
    const owner = await claimHead(database.pool, request());
    expect(await settleEvents(database.pool, [late])).toEqual(new Set());
    await settle(database, owner, "done");
    expect(await readEvents(database)).toMatchObject([{ status: "DONE", attempts: 2, crashes: 1, lastError: null }]);
  });
});

async function requeue(database: Database, id: string): Promise<void> {
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'PENDING', "retries" = 0, "blocksLine" = true, "generation" = "generation" + 1,
       "scheduledAt" = clock_timestamp() - interval '1 second' WHERE "id" = $1 AND "status" = 'FAILED'`,
    [id],
  );
}

async function untilBlocked(database: Database): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if ((rows[0]?.n ?? 0) > 0) return;
  }
}
