import { createDatabase, type Database } from "@toolctrl/db/client";
import { spawnNode } from "@toolctrl/testkit/process";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { expect, onTestFinished, test } from "vitest";
import { cli } from "./cli.ts";

const COMMAND = ["outbox", "backfill-record-key"];

async function openDatabase(): Promise<{ url: string; db: Database }> {
  const { url, drop } = await createTestDatabase();
  const db = await createDatabase({ url, poolMax: 2, app: "cli-test", wakeup: false });
  onTestFinished(async () => {
    await db.close();
    await drop();
  });
  return { url, db };
}

/** Events from before the migration, as it finds them: no key, the constraint not validated. Every third names no record. */
async function oldEvents(db: Database, count: number): Promise<void> {
  await db.pool.query(`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check", DISABLE TRIGGER "OutboxEvent_recordKey"`);
  await db.pool.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload")
     SELECT gen_random_uuid(), 'acme', 'a.b.c', CASE WHEN n % 3 = 0 THEN '{}' ELSE jsonb_build_object('object', 'Lead', 'recordId', n::text) END
     FROM generate_series(1, $1::int) n`,
    [count],
  );
  await db.pool.query(`ALTER TABLE "OutboxEvent" ENABLE TRIGGER "OutboxEvent_recordKey",
    ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`);
}

async function state(db: Database): Promise<unknown> {
  const sql = `SELECT (SELECT count(*)::int FROM "OutboxEvent" WHERE "recordKey" IS NULL) AS "missing",
    (SELECT convalidated FROM pg_constraint WHERE conname = 'OutboxEvent_recordKey_check') AS "validated", (SELECT count(*)::int FROM "OutboxAction") AS "actions"`;
  return (await db.pool.query<Record<string, unknown>>(sql)).rows[0];
}

test("a dry run counts and changes nothing; the run keys every event, shows its progress, validates and is audited", async () => {
  const { url, db } = await openDatabase();
  await oldEvents(db, 30);
  const dry = await cli([...COMMAND, "--dry-run", "--json"], { DATABASE_URL: url });
  expect(dry.code).toBe(0);
  expect(dry.json()).toMatchObject({ dryRun: true, column: true, validated: false, events: 30, missing: 30, withoutRecord: 10 });
  expect((await cli([...COMMAND, "--dry-run"], { DATABASE_URL: url })).stdout).toContain(
    "Would key 30 of 30 events (10 of them name no record",
  );
  expect(await state(db)).toEqual({ missing: 30, validated: false, actions: 0 });

  const run = await cli([...COMMAND, "--batch-size", "20", "--actor", "ann", "--reason", "upgrade"], { DATABASE_URL: url });
  expect(run).toMatchObject({ code: 0, stdout: "Keyed 30 events. The constraint is validated: every event has its record key.\n" });
  expect(run.stderr).toContain("keyed 20/30\nkeyed 30/30\n");
  expect(await state(db)).toEqual({ missing: 0, validated: true, actions: 1 });
  const { rows } = await db.pool.query(`SELECT "actor", "action", "reason", "affected" FROM "OutboxAction"`);
  expect(rows).toEqual([{ actor: "ann", action: "backfill-record-key", reason: "upgrade", affected: 30 }]);

  const again = await cli([...COMMAND, "--json"], { DATABASE_URL: url });
  expect(again.code).toBe(0);
  expect(again.json()).toMatchObject({ keyed: 0, validated: true, actionId: null });
});

test("Ctrl-C lets the running batch end, exits with 5, and the next run does the rest", async () => {
  const { url, db } = await openDatabase();
  await oldEvents(db, 3_000);
  const child = spawnNode(new URL("../src/main.ts", import.meta.url), {
    args: [...COMMAND, "--batch-size", "1", "--json"],
    env: { DATABASE_URL: url },
  });
  await child.waitForLine(/^keyed \d+\/3000$/);
  child.kill("SIGINT");
  expect((await child.waitForExit()).code).toBe(5);
  const { keyed } = JSON.parse(child.stdout()) as { keyed: number };
  expect(await state(db)).toEqual({ missing: 3_000 - keyed, validated: false, actions: 1 });
  expect((await cli([...COMMAND, "--json"], { DATABASE_URL: url })).json()).toMatchObject({ keyed: 3_000 - keyed, validated: true });
});

test("on a database without the column it does nothing and says so", async () => {
  const { url, db } = await openDatabase();
  await db.pool.query(`DROP TRIGGER "OutboxEvent_recordKey" ON "OutboxEvent"; ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey" CASCADE`);
  for (const extra of [[], ["--dry-run"]]) {
    const result = await cli([...COMMAND, ...extra], { DATABASE_URL: url });
    expect(result).toMatchObject({ code: 0, stdout: expect.stringContaining("the table has no record keys yet") });
  }
  const { rows } = await db.pool.query(`SELECT 1 FROM "OutboxAction"`);
  expect(rows).toEqual([]);
});

test.each([
  ["--batch-size", "0"],
  ["--limit", "3"],
])("%s %s is refused", async (...args) => {
  expect((await cli([...COMMAND, ...args], { DATABASE_URL: "postgres://127.0.0.1:1/none" })).code).toBe(2);
});
