import { randomBytes } from "node:crypto";
import pg from "pg";
import { applyMigrations } from "./migrations.ts";
import { track } from "./tracked.ts";

export interface TestDatabase {
  /** The connection string of a superuser of this database. */
  readonly url: string;
  readonly name: string;
  /** Drops the database; sessions that are still open are ended. */
  drop(): Promise<void>;
}

/** A fresh copy of the migrated template database, for one test or one file. It is dropped at the end of the file at the latest. */
export function createTestDatabase(): Promise<TestDatabase> {
  const { serverUrl, template } = fromGlobalSetup();
  return createDatabase(serverUrl, template, template);
}

/** A fresh database without any tables, for tests of the migrations themselves. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  const { serverUrl, template } = fromGlobalSetup();
  return createDatabase(serverUrl, "template0", template);
}

/** Makes the template on a server and migrates it; nobody can connect to it afterwards, or it could not be copied. */
export async function createTemplate(serverUrl: string): Promise<string> {
  const name = `toolctrl_tpl_${randomBytes(4).toString("hex")}`;
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE template0`);
  await applyMigrations(databaseUrl(serverUrl, name));
  await onServer(serverUrl, `ALTER DATABASE ${name} WITH ALLOW_CONNECTIONS false`);
  return name;
}

/** Drops the template and every copy of it. */
export async function dropTemplate(serverUrl: string, template: string): Promise<void> {
  const client = await connect(serverUrl);
  try {
    const { rows } = await client.query<{ datname: string }>("SELECT datname FROM pg_database WHERE datname LIKE $1", [
      `${template.replaceAll("_", "\\_")}%`,
    ]);
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

async function createDatabase(serverUrl: string, from: string, run: string): Promise<TestDatabase> {
  const name = `${run}_${randomBytes(6).toString("hex")}`;
  // Copying files beats copying through the log by far on a server that syncs nothing.
  await onServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${from} STRATEGY file_copy`);
  const drop = async (): Promise<void> => {
    untrack();
    await onServer(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  };
  const untrack = track(`the database ${name}`, drop);
  return { url: databaseUrl(serverUrl, name), name, drop };
}

function fromGlobalSetup(): { serverUrl: string; template: string } {
  const serverUrl = process.env.TESTKIT_POSTGRES_URL;
  const template = process.env.TESTKIT_TEMPLATE;
  if (serverUrl === undefined || template === undefined) {
    throw new Error("expected TESTKIT_POSTGRES_URL and TESTKIT_TEMPLATE from the global setup, got nothing; run the test through vitest");
  }
  return { serverUrl, template };
}

function databaseUrl(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function onServer(serverUrl: string, sql: string): Promise<void> {
  const client = await connect(serverUrl);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  return client;
}
