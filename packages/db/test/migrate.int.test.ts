import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmptyDatabase, createTestDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { applyMigrations } from "../src/apply-migrations.ts";
import { migrate, migrationStatus, verifySchema } from "../src/migrate.ts";
import { findPrismaDir, readMigrations } from "../src/migration-files.ts";
import { takeMigrationLock } from "../src/migration-lock.ts";
import { readSchemaCatalogue } from "../src/schema-catalogue.ts";
import { createSchemaEngine } from "../src/schema-engine.ts";
import { rejection } from "./support.ts";

async function database(migrated: boolean): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await (migrated ? createTestDatabase() : createEmptyDatabase());
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await drop();
  });
  return { url, client };
}

const RECORDS = `SELECT "migration_name" AS "name" FROM "_prisma_migrations" WHERE "finished_at" IS NOT NULL ORDER BY "started_at"`;

test("migrating an empty database makes what the committed dump says, and doing it again changes nothing", async () => {
  const { url, client } = await database(false);
  const names = (await readMigrations()).map((migration) => migration.name);
  expect(await migrate({ url })).toEqual({ applied: names });
  expect(await migrate({ url })).toEqual({ applied: [] });
  const dump: unknown = JSON.parse(await readFile(join(findPrismaDir(), "schema-dump.json"), "utf8"));
  expect(await readSchemaCatalogue(client)).toEqual(dump);
});

test("Prisma's own engine sees no difference between the migrated tables and schema.prisma", async () => {
  const { client } = await database(true);
  const engine = await createSchemaEngine(client);
  const files = [{ path: "schema.prisma", content: await readFile(join(findPrismaDir(), "schema.prisma"), "utf8") }];
  const { stdout } = await engine.diff({
    from: { tag: "schemaDatasource", files, configDir: findPrismaDir() },
    to: { tag: "schemaDatamodel", files },
    script: true,
    exitCode: null,
    filters: { externalTables: [], externalEnums: [] },
  });
  expect(stdout?.trim()).toBe("-- This is an empty migration.");
});

test("a connection that breaks after any one message leaves a database that the next run completes", async () => {
  const files = {
    "1_table": `CREATE TABLE "t" ("a" int); CREATE FUNCTION "f"() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$`,
    "2_index": `CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "t_a_key" ON "t" ("a")`,
    "3_column": `ALTER TABLE "t" ADD COLUMN "b" int`,
  };
  const dir = await migrationsDir(files);
  const run = async (url: string): Promise<void> => {
    const session = new pg.Client({ connectionString: url });
    session.on("error", () => undefined);
    try {
      await session.connect();
      await applyMigrations(session, { dir });
    } finally {
      await session.end().catch(() => undefined);
    }
  };
  expect(await breakAfterEach(1, run, Object.keys(files))).toBeGreaterThan(30);
});

test("a connection that breaks somewhere in the real migrations leaves a database that the next run completes", async () => {
  const names = (await readMigrations()).map((migration) => migration.name);
  // Every 23rd message: all of them would take minutes, and what each kind of message does is tested above.
  expect(await breakAfterEach(23, async (url) => void (await migrate({ url })), names)).toBeGreaterThan(3);
});

/** Breaks the connection of a run after the first message, and after every `stride` more, until one completes. @returns how many broke */
async function breakAfterEach(stride: number, run: (url: string) => Promise<void>, names: readonly string[]): Promise<number> {
  for (let message = 1, broken = 0; ; message += stride, broken += 1) {
    const { url, drop } = await createEmptyDatabase();
    const proxy = await startBreakingProxy(new URL(url), message);
    const completed = await run(proxy.url).then(
      () => true,
      () => false,
    );
    proxy.close();
    await run(url);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const recorded = (await client.query<{ name: string }>(RECORDS)).rows.map((row) => row.name);
    expect(recorded, `broken after message ${message}`).toEqual(names);
    expect((await client.query(`SELECT 1 FROM "_prisma_migrations"`)).rowCount).toBe(names.length);
    expect((await client.query(`SELECT 1 FROM pg_index WHERE NOT indisvalid`)).rowCount).toBe(0);
    await client.end();
    await drop();
    if (completed) return broken;
  }
}

test.each([
  [`ALTER TABLE "OutboxEvent" DROP COLUMN "crashes" CASCADE`, "column OutboxEvent.crashes is missing"],
  [`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_claim_check"`, "constraint OutboxEvent.OutboxEvent_claim_check is missing"],
  [`DROP INDEX "OutboxEvent_due_idx"`, "index OutboxEvent.OutboxEvent_due_idx is missing"],
  [`DROP TRIGGER "AuditEntry_append_only" ON "AuditEntry"`, "trigger AuditEntry.AuditEntry_append_only is missing"],
  [`ALTER TABLE "AuditEntry" DISABLE TRIGGER "AuditEntry_append_only"`, "(DISABLED)"],
  [
    `ALTER TABLE "OutboxEvent" ALTER "retries" TYPE bigint`,
    `expected column OutboxEvent.retries to be "integer NOT NULL DEFAULT 0", got "bigint NOT NULL DEFAULT 0"`,
  ],
  [`DROP TABLE "AuditChain"`, "table AuditChain is missing"],
  [`UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"OutboxEvent_due_idx"'::regclass`, "(INVALID)"],
])("verification finds the damage of %s", async (damage, problem) => {
  const { url, client } = await database(true);
  await verifySchema({ url });
  await client.query(damage);
  const error = await rejection(verifySchema({ url }));
  expect(error).toMatchObject({ code: "MIGRATE.VERIFY" });
  expect(error.message).toContain(problem);
});

test("a product's own tables and a later version's columns are no damage", async () => {
  const { url, client } = await database(true);
  await client.query(`CREATE TABLE "Order" ("id" int); ALTER TABLE "OutboxEvent" ADD COLUMN "laterColumn" text`);
  await expect(verifySchema({ url })).resolves.toBeUndefined();
});

test("a record key that is not backfilled yet is no damage; a missing constraint is", async () => {
  const { url, client } = await database(true);
  const drop = `ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check"`;
  await client.query(`${drop}, ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`);
  await expect(verifySchema({ url })).resolves.toBeUndefined();
  await client.query(drop);
  expect((await rejection(verifySchema({ url }))).message).toContain("OutboxEvent_recordKey_check is missing");
});

test("the status tells applied, pending, edited, unknown and failed migrations apart", async () => {
  const { url, client } = await database(false);
  const names = (await readMigrations()).map((migration) => migration.name);
  expect(await migrationStatus({ url })).toMatchObject({ applied: [], pending: names, failed: [] });
  await migrate({ url });
  expect(await migrationStatus({ url })).toEqual({ applied: names, pending: [], failed: [], edited: [], unknown: [], schemaProblems: [] });
  const insert = `INSERT INTO "_prisma_migrations" ("id", "checksum", "migration_name", "started_at", "applied_steps_count", "finished_at")
    VALUES ($1, 'x', $1, now(), 0, $2)`;
  await client.query(insert, ["20990101000000_later", new Date()]);
  await client.query(insert, ["20990101000001_broken", null]);
  await client.query(`UPDATE "_prisma_migrations" SET "checksum" = 'x' WHERE "migration_name" = $1`, [names[0]]);
  expect(await migrationStatus({ url })).toMatchObject({
    failed: ["20990101000001_broken"],
    edited: [names[0]],
    unknown: ["20990101000000_later"],
  });
});

test("a process that waits too long for another's migration says so", async () => {
  const { url, client } = await database(false);
  await takeMigrationLock(client, 0);
  expect(await rejection(migrate({ url, lockWaitMs: 300 }))).toMatchObject({ code: "MIGRATE.LOCKED" });
});

test("a migration that fails leaves nothing behind, and applies once it is corrected", async () => {
  const { client } = await database(false);
  const dir = await migrationsDir({
    "1_ok": `CREATE TABLE "a" ("id" int)`,
    "2_bad": `CREATE TABLE "b" ("id" int); SELECT 1/0; CREATE TABLE "c" ("id" int)`,
  });
  const error = await rejection(applyMigrations(client, { dir }));
  expect(error).toMatchObject({ code: "MIGRATE.FAILED", facts: { migration: "2_bad" } });
  expect(error.message).toContain("division by zero");
  expect((await client.query(`SELECT to_regclass('a') AS "a", to_regclass('b') AS "b"`)).rows).toEqual([{ a: "a", b: null }]);
  await writeFile(join(dir, "2_bad", "migration.sql"), `CREATE TABLE "b" ("text" text DEFAULT 'a;b -- c')`);
  expect(await applyMigrations(client, { dir })).toEqual(["2_bad"]);
  expect((await client.query(RECORDS)).rows).toEqual([{ name: "1_ok" }, { name: "2_bad" }]);
});

test("a migration that waits too long for a table gives up, says so, and leaves nothing behind", async () => {
  const { url, client } = await database(false);
  const session = new pg.Client({ connectionString: url, options: "-c lock_timeout=100ms" });
  onTestFinished(() => session.end());
  await session.connect();
  const table = { "1_table": `CREATE TABLE "t" ("a" int)` };
  await applyMigrations(session, { dir: await migrationsDir(table) });
  const dir = await migrationsDir({ ...table, "2_column": `ALTER TABLE "t" ADD COLUMN "b" int` });
  await client.query(`BEGIN; LOCK TABLE "t"`);
  expect(await rejection(applyMigrations(session, { dir }))).toMatchObject({
    code: "MIGRATE.TABLE_LOCKED",
    fix: expect.stringContaining("pg_stat_activity"),
    facts: { migration: "2_column" },
  });
  await client.query("COMMIT");
  expect(await applyMigrations(session, { dir })).toEqual(["2_column"]);
});

test.each(["build", "removal of a failed build"])(
  "after an interrupted %s the index is built again, never taken for done",
  async (interrupted) => {
    const { url, client } = await database(false);
    const table = `CREATE TABLE "t" ("a" int); INSERT INTO "t" VALUES (1), (1)`;
    const index = `-- built beside the traffic\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS "t_a_key" ON "t" ("a")`;
    const dir = await migrationsDir({ "1_table": table, "2_index": index });
    const valid = async (): Promise<unknown> =>
      (await client.query(`SELECT indisvalid AS "valid" FROM pg_index WHERE indexrelid = '"t_a_key"'::regclass`)).rows[0];
    // The lock belongs to the session, so each attempt has one of its own.
    const attempt = async (): Promise<string[]> => {
      const session = new pg.Client({ connectionString: url, application_name: "builder" });
      session.on("error", () => undefined);
      await session.connect();
      try {
        return await applyMigrations(session, { dir });
      } finally {
        await session.end();
      }
    };
    expect(await rejection(attempt())).toMatchObject({ code: "MIGRATE.FAILED" });
    expect(await valid()).toEqual({ valid: false });

    // Now an attempt that is killed while it waits for an older transaction.
    await client.query(`DELETE FROM "t"`);
    if (interrupted === "build") await client.query(`DROP INDEX "t_a_key"`);
    const older = new pg.Client({ connectionString: url });
    await older.connect();
    await older.query(`BEGIN; INSERT INTO "t" VALUES (1)`);
    const killed = rejection(attempt());
    const waiting = `SELECT 1 FROM pg_stat_activity
      WHERE application_name = 'builder' AND wait_event_type = 'Lock' AND query LIKE '%INDEX CONCURRENTLY%'`;
    await waitFor(async () => (await client.query(waiting)).rowCount, { what: "the attempt to wait" });
    await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'builder'`);
    await killed;
    await older.query("COMMIT");
    await older.end();
    expect(await valid()).toEqual({ valid: false });

    expect(await attempt()).toEqual(["2_index"]);
    expect(await valid()).toEqual({ valid: true });
  },
);

test("CONCURRENTLY stands alone in its file with IF NOT EXISTS, and no migration manages transactions itself", async () => {
  for (const { name, sql, transactional } of await readMigrations()) {
    const code = sql.replaceAll(/--[^\n]*/g, "").replaceAll(/\$\$[\s\S]*?\$\$/g, "");
    const statements = code.split(";").filter((statement) => statement.trim() !== "");
    const repeatable = statements.length === 1 && /IF NOT EXISTS/i.test(code);
    expect([name, transactional || repeatable]).toEqual([name, true]);
    expect([name, statements.some((statement) => /^\s*(BEGIN|COMMIT|ROLLBACK|START)\b/i.test(statement))]).toEqual([name, false]);
  }
});

test("the migrations are found from src and from dist", () => {
  const root = join(findPrismaDir(), "..");
  for (const from of ["src/migration-files.ts", "dist/migration-files.js", "dist/chunks/x.js"])
    expect(findPrismaDir(join(root, from))).toBe(join(root, "prisma"));
  expect(() => findPrismaDir("/nowhere/x.js")).toThrow("expected a prisma/migrations folder");
});

async function migrationsDir(files: Record<string, string>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "migrations-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  await writeFile(join(dir, "migration_lock.toml"), `provider = "postgresql"\n`);
  for (const [name, sql] of Object.entries(files)) {
    await mkdir(join(dir, name));
    await writeFile(join(dir, name, "migration.sql"), sql);
  }
  return dir;
}

/** A proxy that passes on the first `messages` chunks of the client, then breaks both connections. */
async function startBreakingProxy(target: URL, messages: number): Promise<{ url: string; close(): void }> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    let passed = 0;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => socket.destroy());
    }
    upstream.pipe(client);
    client.on("data", (chunk) => {
      passed += 1;
      if (passed > messages) return;
      upstream.write(chunk, () => {
        if (passed === messages) {
          client.destroy();
          upstream.destroy();
        }
      });
    });
    client.on("close", () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("expected a port");
  const url = new URL(target);
  url.host = `127.0.0.1:${address.port}`;
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: url.href, close };
}
