import { execFileSync } from "node:child_process";
import { access, chmod, cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { askRedis } from "../src/ask-redis.ts";
import { findPostgresBinaries } from "../src/postgres-binaries.ts";
import { startPostgres } from "../src/postgres-server.ts";
import { requireRedisServer } from "../src/redis-binary.ts";
import { findRedisServer, startRedis } from "../src/redis-server.ts";
import { postgresUser } from "../src/run-as.ts";

const isRoot = process.getuid?.() === 0;

async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function scratch(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "testkit-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

test("PostgreSQL keeps what was committed through a restart, a stop and a kill, at the same address", async () => {
  const server = await startPostgres();
  await query(server.url, "CREATE TABLE kept (step text)");
  const { url } = server;
  await query(url, "INSERT INTO kept VALUES ('restart')");
  await server.restart();
  for (const end of ["stop", "kill"] as const) {
    await query(url, `INSERT INTO kept VALUES ('${end}')`);
    await server[end]();
    expect(() => server.pid).toThrow(/to run, got it stopped/);
    await expect(query(url, "SELECT 1")).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await server.restart();
  }
  expect(server.url).toBe(url);
  expect(await query(url, "SELECT step FROM kept")).toEqual([{ step: "restart" }, { step: "stop" }, { step: "kill" }]);
  await server.close();
  expect(await exists(server.dir)).toBe(false);
});

test("PostgreSQL with a directory is durable and finds its data again", async () => {
  const dir = join(await scratch(), "database");
  await chmod(join(dir, ".."), 0o755);
  const first = await startPostgres({ dir });
  expect(await query(first.url, "SHOW fsync")).toEqual([{ fsync: "on" }]);
  await query(first.url, "CREATE TABLE kept ()");
  await first.close();
  const second = await startPostgres({ dir });
  expect(await query(second.url, "SELECT to_regclass('kept')::text AS found")).toEqual([{ found: "kept" }]);
  await second.close();
});

test.runIf(isRoot)("data of a directory that only root can enter live elsewhere, named in it, and are found again", async () => {
  const dir = join(await scratch(), "database");
  const lines: string[] = [];
  const first = await startPostgres({ dir, log: (line) => lines.push(line) });
  onTestFinished(() => rm(first.dir, { recursive: true, force: true }));
  expect((await readFile(join(dir, "moved-to"), "utf8")).trim()).toBe(first.dir);
  expect(lines).toContainEqual(expect.stringContaining(`cannot read ${dir}; its data are in ${first.dir}`));
  await query(first.url, "CREATE TABLE kept ()");
  await first.close();
  const second = await startPostgres({ dir });
  expect(await query(second.url, "SELECT to_regclass('kept')::text AS found")).toEqual([{ found: "kept" }]);
  await second.close();
});

test.runIf(isRoot)("server programs that only root can reach are copied to where they can be run", async () => {
  const as = await postgresUser("");
  const usual = await findPostgresBinaries(as);
  const closed = join(await scratch(), "native");
  await mkdir(closed);
  await cp(join(usual.postgres, "..", ".."), closed, { recursive: true, verbatimSymlinks: true });
  const copied = await findPostgresBinaries(as, { native: closed });
  expect(copied.postgres.startsWith(closed)).toBe(false);
  expect(execFileSync(copied.postgres, ["--version"], { ...as, cwd: "/", encoding: "utf8" })).toContain("PostgreSQL");
});

test("a server that cannot start says why", async () => {
  await expect(startPostgres({ settings: { no_such_setting: "1" } })).rejects.toThrow(/no_such_setting/);
  await expect(startRedis({ args: ["--no-such-option", "1"] })).rejects.toThrow(/no-such-option/);
});

test("Redis refuses while stopped and is empty at the same address afterwards", async () => {
  const server = await startRedis();
  await askRedis(server.url, "SET", "a", "1");
  await server.stop();
  expect(() => server.pid).toThrow(/to run, got it stopped/);
  await expect(askRedis(server.url, "PING")).rejects.toThrow(/Connection is closed|ECONNREFUSED/);
  await server.start();
  expect(await askRedis(server.url, "GET", "a")).toBe(null);
  await server.close();
});

test("Redis with an append-only file keeps acknowledged writes through a kill", async () => {
  const server = await startRedis({ args: ["--appendonly", "yes", "--appendfsync", "always"] });
  await askRedis(server.url, "SET", "a", "1");
  await server.kill();
  await server.start();
  expect(await askRedis(server.url, "GET", "a")).toBe("1");
  await server.close();
});

test("a machine without a Redis server is told what to type", async () => {
  const { PATH } = process.env;
  onTestFinished(() => void (process.env.PATH = PATH));
  process.env.PATH = "/nonexistent";
  expect(await findRedisServer()).toBe(null);
  await expect(requireRedisServer()).rejects.toThrow(/Type: (sudo apt-get install -y redis-server|brew install redis)/);
});
