import { createDatabase, type Database } from "@toolctrl/db/client";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli as runCli, type CliResult } from "./cli.ts";

let env: Record<string, string>;
let database: Database;
const cli = (...args: string[]): Promise<CliResult> => runCli(args, env);

beforeAll(async () => {
  const { url } = await createTestDatabase();
  env = { DATABASE_URL: url };
  database = await createDatabase({ url, poolMax: 2, app: "cli-test", wakeup: false });
  // As it is before the key: two leads, each converted twice.
  await database.pool.query(`DROP INDEX "Opportunity_tenantId_sourceLeadId_key"`);
  await database.pool.query(
    `WITH company AS (INSERT INTO "Company" ("id", "tenantId", "name", "nameKey") VALUES (gen_random_uuid(), 'acme', 'X', 'x') RETURNING "id"),
     contact AS (INSERT INTO "Contact" ("id", "tenantId", "companyId", "name", "contactKey")
       SELECT gen_random_uuid(), 'acme', c."id", 'Ann', 'ann' FROM company c RETURNING "id"),
     leads AS (INSERT INTO "Lead" ("id", "tenantId", "name") SELECT gen_random_uuid(), 'acme', 'Ann' FROM generate_series(1, 2) RETURNING "id"),
     numbered AS (SELECT row_number() OVER () AS "number", l."id" FROM generate_series(1, 2), leads l)
     INSERT INTO "Opportunity" ("id", "tenantId", "number", "name", "sourceLeadId", "contactId", "companyId")
     SELECT gen_random_uuid(), 'acme', n."number", 'Deal', n."id", contact."id", company."id" FROM numbered n, contact, company`,
  );
});

afterAll(() => database.close());

const merged = async (): Promise<number> => database.prisma.opportunity.count({ where: { NOT: { mergedIntoId: null } } });

test("leads dedupe says what it would merge, asks before it does, merges, and then finds nothing", async () => {
  const dry = await cli("leads", "dedupe", "--dry-run", "--json");
  expect([dry.code, dry.json()]).toMatchObject([
    0,
    {
      action: "leads.dedupe",
      dryRun: true,
      merged: 2,
      more: false,
      uniqueKey: "missing",
      leads: expect.arrayContaining([expect.objectContaining({ keptNumber: "OPP-000001", mergedNumbers: ["OPP-000003"] })]),
    },
  ]);
  const human = await cli("leads", "dedupe", "--dry-run");
  expect(human.stdout).toMatch(/acme .* OPP-000002 +OPP-000004 +0/);
  expect(human.stdout).toContain("Would merge 2 opportunities of 2 leads. The unique key is missing");

  const unasked = await cli("leads", "dedupe", "--json");
  expect([unasked.code, unasked.json()]).toMatchObject([2, { error: { code: "CLI.ARGUMENT" } }]);
  expect(await merged()).toBe(0);

  const first = await cli("leads", "dedupe", "--yes", "--limit", "1", "--actor", "ops", "--reason", "before the key", "--json");
  expect([first.code, first.json()]).toMatchObject([0, { dryRun: false, merged: 1, more: true }]);
  const rest = await cli("leads", "dedupe", "--yes");
  expect([rest.code, rest.stdout]).toEqual([0, expect.stringContaining("Merged 1 opportunity of 1 lead.")]);
  expect(await merged()).toBe(2);
  expect(await database.prisma.outboxAction.findFirst({ orderBy: { createdAt: "asc" } })).toMatchObject({
    actor: "ops",
    action: "leads.dedupe",
    reason: "before the key",
    affected: 1,
  });
  const again = await cli("leads", "dedupe", "--yes");
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("Nothing to merge")]);
});
