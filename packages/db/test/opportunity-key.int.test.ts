import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { applyMigrations } from "../src/apply-migrations.ts";
import { migrate, migrationStatus } from "../src/migrate.ts";
import { findPrismaDir } from "../src/migration-files.ts";
import { rejection } from "./support.ts";

const MERGE = "20261201001200_opportunity_merge";
const KEY = "20261201001300_opportunity_source_lead_key";
const KEY_STATE = `SELECT i.indisvalid AS "valid" FROM pg_index i WHERE i.indexrelid = to_regclass('"Opportunity_tenantId_sourceLeadId_key"')`;
const LIVE = `SELECT "sourceLeadId" AS "lead", min("number")::int AS "kept", count(*)::int AS "n" FROM "Opportunity"
  WHERE "sourceLeadId" IS NOT NULL GROUP BY 1 ORDER BY 2`;

/** A database of the version whose last migration comes before `next`. */
async function databaseBefore(next: string): Promise<{ url: string; client: pg.Client }> {
  const { url, drop } = await createEmptyDatabase();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const dir = await mkdtemp(join(tmpdir(), "migrations-"));
  onTestFinished(async () => {
    await client.end();
    await drop();
    await rm(dir, { recursive: true });
  });
  const from = join(findPrismaDir(), "migrations");
  const names = (await readdir(from)).filter((name) => name === "migration_lock.toml" || name < next);
  for (const name of names) await cp(join(from, name), join(dir, name), { recursive: true });
  // In a session of its own: the engine's lock goes with it.
  const migrator = new pg.Client({ connectionString: url });
  await migrator.connect();
  await applyMigrations(migrator, { dir });
  await migrator.end();
  return { url, client };
}

/** Leads that were converted `times` times each, three notes to an opportunity. */
async function seedDuplicates(client: pg.Client, leads: number, times: number): Promise<void> {
  await client.query(
    `WITH company AS (INSERT INTO "Company" ("id", "tenantId", "name", "nameKey") VALUES (gen_random_uuid(), 't', 'ACME', 'acme') RETURNING "id"),
     contact AS (INSERT INTO "Contact" ("id", "tenantId", "companyId", "name", "contactKey")
       SELECT gen_random_uuid(), 't', c."id", 'Ann', 'ann' FROM company c RETURNING "id"),
     leads AS (INSERT INTO "Lead" ("id", "tenantId", "name") SELECT gen_random_uuid(), 't', 'Ann' FROM generate_series(1, $1::int) RETURNING "id"),
     numbered AS (SELECT row_number() OVER () AS "number", l."id" FROM generate_series(1, $2::int), leads l),
     opportunities AS (INSERT INTO "Opportunity" ("id", "tenantId", "number", "name", "sourceLeadId", "contactId", "companyId", "createdAt")
       SELECT gen_random_uuid(), 't', n."number", 'Deal', n."id", contact."id", company."id", now() FROM numbered n, contact, company RETURNING "id")
     INSERT INTO "OpportunityNote" ("id", "opportunityId", "body") SELECT gen_random_uuid(), o."id", 'note' FROM opportunities o, generate_series(1, 3)`,
    [leads, times],
  );
}

test("a database with duplicate conversions is migrated: they are merged, notes re-pointed, the key is built", async () => {
  const { url, client } = await databaseBefore(MERGE);
  await seedDuplicates(client, 3, 3);
  expect((await migrate({ url })).applied).toContain(KEY);
  const { rows } = await client.query<{ lead: string; kept: number; n: number }>(LIVE);
  expect(rows.map(({ kept, n }) => [kept, n])).toEqual([1, 2, 3].map((number) => [number, 1]));
  const notes = `SELECT count(*)::int AS "n" FROM "OpportunityNote" n JOIN "Opportunity" o ON o."id" = n."opportunityId"
    WHERE o."sourceLeadId" IS NOT NULL GROUP BY o."id"`;
  expect((await client.query(notes)).rows).toEqual([{ n: 9 }, { n: 9 }, { n: 9 }]);
  expect((await client.query(`SELECT count(*)::int AS "n" FROM "Opportunity" WHERE "mergedIntoId" IS NOT NULL`)).rows).toEqual([{ n: 6 }]);
  expect((await client.query(KEY_STATE)).rows).toEqual([{ valid: true }]);
});

test("duplicates made after the merge stop the key with a report; the database stays deployable, and after the merge a rerun succeeds", async () => {
  const { url, client } = await databaseBefore(KEY);
  await seedDuplicates(client, 1, 2);
  const lead = (await client.query<{ lead: string }>(LIVE)).rows[0]?.lead ?? "";
  for (let run = 0; run < 2; run += 1) {
    const error = await rejection(migrate({ url }));
    expect(error).toMatchObject({ code: "MIGRATE.FAILED", facts: { migration: KEY } });
    expect(error.message).toContain(lead);
    expect((await client.query(KEY_STATE)).rows).toEqual([{ valid: false }]);
  }
  // What the product does goes on meanwhile: it names no index.
  await client.query(
    `INSERT INTO "Opportunity" ("id", "tenantId", "number", "name", "contactId", "companyId")
     SELECT gen_random_uuid(), "tenantId", 7, 'By hand', "contactId", "companyId" FROM "Opportunity" LIMIT 1 ON CONFLICT DO NOTHING`,
  );
  await client.query(`SELECT "mergeDuplicateOpportunities"(10, false)`);
  expect((await migrate({ url })).applied[0]).toBe(KEY);
  expect((await client.query(KEY_STATE)).rows).toEqual([{ valid: true }]);
  expect(await migrationStatus({ url })).toMatchObject({ pending: [], failed: [], schemaProblems: [] });
});
