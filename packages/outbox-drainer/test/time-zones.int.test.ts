import { ROUTES } from "@toolctrl/event-router/router";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { NewJob } from "@toolctrl/queue/port";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { runRetention } from "../src/retention.ts";
import { dispatcherOf, insertEvents, openBackend, silentLog, statuses } from "./support.ts";

/** A database whose sessions are in a zone of its own, and a session as an operator's psql opens it. */
async function openIn(zone: string): Promise<{ database: Database; outside: pg.Client }> {
  const { url, name } = await createTestDatabase();
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`ALTER DATABASE "${name}" SET timezone TO '${zone}'`);
  await admin.end();
  const outside = new pg.Client({ connectionString: url });
  await outside.connect();
  const database = await createDatabase({ url, poolMax: 5, app: "test", wakeup: false });
  onTestFinished(async () => void (await Promise.all([database.close(), outside.end()])));
  expect((await outside.query<{ TimeZone: string }>("SHOW timezone")).rows).toEqual([{ TimeZone: zone }]);
  return { database, outside };
}

/** Seconds to a time of the only event from when it was written, and from now, as the session outside reckons. */
async function secondsTo(outside: pg.Client, column: "lockedUntil" | "scheduledAt"): Promise<{ written: number; now: number }> {
  const { rows } = await outside.query<{ written: number; now: number }>(
    `SELECT extract(epoch FROM "${column}" - "updatedAt")::float8 AS "written", extract(epoch FROM "${column}" - clock_timestamp())::float8 AS "now"
     FROM "OutboxEvent"`,
  );
  return rows[0] ?? { written: Number.NaN, now: Number.NaN };
}

/** A minute, though this machine may have been busy since it began. */
function expectMinute({ written, now }: { written: number; now: number }): void {
  expect(Math.abs(written - 60)).toBeLessThan(2);
  expect(now).toBeGreaterThan(0);
  expect(now).toBeLessThanOrEqual(62);
}

describe.each(["Europe/Moscow", "America/New_York"])("in a database whose time zone is %s", (zone) => {
  test("a lease of 60 s holds 60 s and the first backoff is a minute", async () => {
    const { database, outside } = await openIn(zone);
    const backend = await openBackend();
    const [id = ""] = await insertEvents(database, 1);
    const leases: { written: number; now: number }[] = [];
    const stolen: number[] = [];
    const poisoned = {
      ping: () => backend.ping(),
      // While the event is claimed: how long still, and what another dispatcher makes of it.
      async addAll(jobs: readonly NewJob[]) {
        leases.push(await secondsTo(outside, "lockedUntil"));
        stolen.push((await dispatcherOf(database, backend).tick()).claimed);
        return backend.addAll(jobs.map((job) => (job.id === jobIdFor(id) ? { ...job, id: "a:b" } : job)));
      },
    };
    expect(await dispatcherOf(database, poisoned, { settings: { leaseMs: 60_000 } }).tick()).toMatchObject({ claimed: 1, retried: 1 });
    expect(leases).toHaveLength(1);
    leases.forEach(expectMinute);
    expect(stolen).toEqual([0]);
    expectMinute(await secondsTo(outside, "scheduledAt"));
    expect(await dispatcherOf(database, backend).tick()).toMatchObject({ claimed: 0 });
    await outside.query(`UPDATE "OutboxEvent" SET "scheduledAt" = now() - interval '1 second'`);
    expect(await dispatcherOf(database, backend).tick()).toMatchObject({ claimed: 1, done: 1 });
  });

  test("what an outside session makes due is due, and what it puts off waits", async () => {
    const { database, outside } = await openIn(zone);
    const backend = await openBackend();
    await outside.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "scheduledAt")
       SELECT gen_random_uuid(), 'acme', 'mail.message.send', '{}', now() + put_off FROM unnest(ARRAY[interval '-1 second', interval '1 minute']) put_off`,
    );
    expect(await dispatcherOf(database, backend).tick()).toMatchObject({ claimed: 1, done: 1 });
    expect(await statuses(database)).toEqual({ DONE: 1, PENDING: 1 });
  });

  test("retention deletes what is older than its hours and nothing younger, to the minute", async () => {
    const { database, outside } = await openIn(zone);
    const ids = await insertEvents(database, 3, { type: "audit.entry.record" });
    await outside.query(
      `UPDATE "OutboxEvent" e SET "status" = 'DONE', "blocksLine" = false, "processedAt" = now() - age
       FROM unnest($1::uuid[], ARRAY[interval '0', interval '719 hours 59 minutes', interval '720 hours 1 minute']) AS aged(id, age) WHERE e."id" = aged.id`,
      [ids],
    );
    await outside.query(
      `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") SELECT id, 'audit-append', 'acme', 'done' FROM unnest($1::uuid[]) id`,
      [ids],
    );
    expect(await runRetention(database.pool, ROUTES, { retentionHours: 720, batchSize: 100 }, silentLog)).toMatchObject({ deleted: 1 });
    const left = await outside.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" ORDER BY "position"`);
    expect(left.rows.map(({ id }) => id)).toEqual(ids.slice(0, 2));
  });
});
