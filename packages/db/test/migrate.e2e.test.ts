import { spawnNode } from "@toolctrl/testkit/process";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { waitFor } from "@toolctrl/testkit/wait";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { verifySchema } from "../src/migrate.ts";
import { readMigrations } from "../src/migration-files.ts";

const script = new URL("migrate-process.ts", import.meta.url);

async function emptyDatabase(): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await drop();
  });
  return { url, client };
}

async function records(client: pg.Client): Promise<unknown[]> {
  const sql = `SELECT "migration_name" AS "name", "finished_at" IS NOT NULL AS "finished", "applied_steps_count" AS "steps"
    FROM "_prisma_migrations" ORDER BY "started_at"`;
  return (await client.query<Record<string, unknown>>(sql)).rows;
}

test("of three replicas one is killed midway: nothing of its migration stays, each is recorded once, the others are healthy", async () => {
  const { url, client } = await emptyDatabase();
  const names = (await readMigrations()).map((migration) => migration.name);
  const replicas = [1, 2, 3].map(() => spawnNode(script, { env: { DATABASE_URL: url, PAUSE_AT: names.at(-1) } }));
  const midway = async (among: typeof replicas) =>
    waitFor(() => among.find((replica) => replica.lines().includes("midway")), { what: "a replica to be midway", timeoutMs: 30_000 });

  const victim = await midway(replicas);
  const others = replicas.filter((replica) => replica !== victim);
  const connected = `SELECT count(*)::int AS "n" FROM pg_stat_activity
    WHERE application_name = 'toolctrl migrate' AND datname = current_database()`;
  await waitFor(async () => (await client.query<{ n: number }>(connected)).rows[0]?.n === 3, {
    what: "all three to be connected",
    timeoutMs: 30_000,
  });
  expect(await records(client)).toEqual(names.slice(0, -1).map((name) => ({ name, finished: true, steps: 1 })));
  victim.kill("SIGKILL");

  // The next one in the line stops at the same place, as the killed one left nothing of the migration.
  const next = await midway(others);
  // It says so before it stops itself: told to go on in between, it would not hear it.
  await waitFor(() => (next.kill("SIGCONT"), next.lines().some((line) => /^(?:healthy|failed)/.test(line))), {
    what: "the next one to go on",
  });
  const ends = await Promise.all(others.map((other) => other.waitForExit()));
  expect(ends.map((end) => end.code)).toEqual([0, 0]);
  expect(others.map((other) => other.stdout()).toSorted()).toEqual(["healthy 0\n", "midway\nhealthy 1\n"]);
  expect(await records(client)).toEqual(names.map((name) => ({ name, finished: true, steps: 1 })));
  await verifySchema({ url });
});

test("a stub engine in the environment changes nothing: the migrations are applied and verified", async () => {
  const { url } = await emptyDatabase();
  const migrations = await readMigrations();
  const child = spawnNode(script, { env: { DATABASE_URL: url, PRISMA_SCHEMA_ENGINE_BINARY: "/bin/true" } });
  expect(await child.waitForLine(/^(healthy|failed)/)).toBe(`healthy ${migrations.length}`);
  await verifySchema({ url });
});

test("a database that is recorded as migrated but lacks a table ends the process with an error that names it", async () => {
  const { url, client } = await emptyDatabase();
  await spawnNode(script, { env: { DATABASE_URL: url } }).waitForLine(/^healthy/);
  await client.query(`DROP TABLE "OutboxReceipt"`);
  const child = spawnNode(script, { env: { DATABASE_URL: url } });
  expect((await child.waitForExit()).code).toBe(1);
  expect(child.stdout()).toContain("table OutboxReceipt is missing");
});
