import { randomUUID } from "node:crypto";
import type { Database } from "@toolctrl/db/client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dedupeOpportunities } from "../src/leads.ts";
import { deliver, openDatabase, rowsOf, TENANT } from "./support.ts";
import { opportunityCreate } from "../src/leads/opportunity-create.ts";

/** A database as it is before the key: the old product could convert a lead twice. */
async function openDirtyDatabase(): Promise<Database> {
  const db = await openDatabase();
  await db.pool.query(`DROP INDEX "Opportunity_tenantId_sourceLeadId_key"`);
  return db;
}

interface Seed {
  readonly lead: number;
  /** Seconds; equal ones are told apart by number. */
  readonly age: number;
  readonly notes: number;
}

interface Made extends Seed {
  readonly id: string;
  readonly number: number;
}

const leadId = (lead: number): string => `00000000-0000-7000-8000-${String(lead).padStart(12, "0")}`;
const MERGE = { dryRun: false, limit: 1_000, actor: "test", reason: null };

async function seed(db: Database, seeds: readonly Seed[]): Promise<Made[]> {
  await db.pool.query(`TRUNCATE "Company", "Contact", "Lead", "Opportunity", "OpportunityNote", "TenantCounter", "OutboxAction" CASCADE`);
  const [company, contact] = [randomUUID(), randomUUID()];
  await db.pool.query(`INSERT INTO "Company" ("id", "tenantId", "name", "nameKey") VALUES ($1, $2, 'ACME', 'acme')`, [company, TENANT]);
  await db.pool.query(`INSERT INTO "Contact" ("id", "tenantId", "companyId", "name", "contactKey") VALUES ($1, $2, $3, 'Ann', 'ann')`, [
    contact,
    TENANT,
    company,
  ]);
  for (const lead of new Set(seeds.map((one) => one.lead))) {
    await db.pool.query(`INSERT INTO "Lead" ("id", "tenantId", "name") VALUES ($1, $2, 'Ann')`, [leadId(lead), TENANT]);
  }
  const made = seeds.map((one, index) => ({ ...one, id: randomUUID(), number: index + 1 }));
  for (const { id, number, lead, age, notes } of made) {
    await db.pool.query(
      `INSERT INTO "Opportunity" ("id", "tenantId", "number", "name", "sourceLeadId", "contactId", "companyId", "createdAt")
       VALUES ($1, $2, $3, 'Deal', $4, $5, $6, '2026-12-01T00:00:00Z'::timestamptz - $7::int * interval '1 second')`,
      [id, TENANT, number, leadId(lead), contact, company, age],
    );
    await db.pool.query(
      `INSERT INTO "OpportunityNote" ("id", "opportunityId", "body") SELECT gen_random_uuid(), $1, $3 FROM generate_series(1, $2::int)`,
      [id, notes, id],
    );
  }
  return made;
}

/** The rule, said once more: the oldest stays, then the smaller number. */
function keptOf(made: readonly Made[], lead: number): Made {
  const [kept] = made.filter((one) => one.lead === lead).toSorted((a, b) => b.age - a.age || a.number - b.number);
  if (kept === undefined) throw new Error(`expected lead ${lead} to have an opportunity, got none`);
  return kept;
}

const STATE = `SELECT o."id", o."number"::int AS "number", o."sourceLeadId" AS "lead", o."mergedIntoId" AS "into", o."mergedAt" IS NOT NULL AS "merged",
  (SELECT count(*)::int FROM "OpportunityNote" n WHERE n."opportunityId" = o."id") AS "notes" FROM "Opportunity" o ORDER BY o."number"`;

describe("merging duplicate opportunities", () => {
  test("keeps the oldest of each lead, moves every note to it, and lets the others keep their numbers and say where they went", async () => {
    const db = await openDirtyDatabase();
    const one = fc.record({
      lead: fc.integer({ min: 1, max: 4 }),
      age: fc.integer({ min: 0, max: 2 }),
      notes: fc.integer({ min: 0, max: 2 }),
    });
    const property = fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 10 }), async (seeds) => {
      const made = await seed(db, seeds);
      const dry = await dedupeOpportunities(db.prisma, { ...MERGE, dryRun: true });
      const report = await dedupeOpportunities(db.prisma, MERGE);
      expect(report).toEqual(dry);
      const expected = made.map(({ id, number, lead, notes }) => {
        const kept = keptOf(made, lead);
        const others = made.filter((other) => other.lead === lead).reduce((sum, other) => sum + other.notes, 0);
        if (kept.id === id) return { id, number, lead: leadId(lead), into: null, merged: false, notes: others };
        expect(notes).toBeLessThanOrEqual(others);
        return { id, number, lead: null, into: kept.id, merged: true, notes: 0 };
      });
      expect(await rowsOf(db, STATE)).toEqual(expected);
      expect(report.merged).toBe(expected.filter(({ merged }) => merged).length);
      // And again, it finds nothing.
      expect(await dedupeOpportunities(db.prisma, MERGE)).toMatchObject({ leads: [], merged: 0, more: false });
    });
    await fc.assert(property, { numRuns: 15 });
  });

  test("re-points what was merged before, so that every number leads straight to the one that lives", async () => {
    const db = await openDirtyDatabase();
    const [first, second, third] = (await seed(
      db,
      [1, 1, 1].map((lead) => ({ lead, age: 0, notes: 1 })),
    )) as [Made, Made, Made];
    await db.pool.query(`UPDATE "Opportunity" SET "sourceLeadId" = NULL, "mergedIntoId" = $2, "mergedAt" = now() WHERE "id" = $1`, [
      third.id,
      second.id,
    ]);
    await dedupeOpportunities(db.prisma, MERGE);
    const into = await rowsOf(db, `SELECT "id", "mergedIntoId" AS "into" FROM "Opportunity" ORDER BY "number"`);
    expect(into).toEqual([
      { id: first.id, into: null },
      { id: second.id, into: first.id },
      { id: third.id, into: first.id },
    ]);
  });

  test("a dry run changes nothing and names what would happen; a limit takes that many and says that there are more", async () => {
    const db = await openDirtyDatabase();
    await seed(
      db,
      [1, 1, 2, 2, 2, 3].map((lead) => ({ lead, age: 0, notes: 1 })),
    );
    const before = await rowsOf(db, STATE);
    const dry = await dedupeOpportunities(db.prisma, { ...MERGE, dryRun: true, limit: 1 });
    expect(dry).toMatchObject({ merged: 1, more: true, uniqueKey: "missing" });
    expect(dry.leads).toMatchObject([{ sourceLeadId: leadId(1), keptNumber: "OPP-000001", mergedNumbers: ["OPP-000002"], notes: 1 }]);
    expect([await rowsOf(db, STATE), await rowsOf(db, `SELECT 1 FROM "OutboxAction"`)]).toEqual([before, []]);
    expect(await dedupeOpportunities(db.prisma, { ...MERGE, limit: 1 })).toMatchObject({ merged: 1, more: true });
    expect(await dedupeOpportunities(db.prisma, { ...MERGE, limit: 1 })).toMatchObject({ merged: 2, more: false });
    const actions = await rowsOf(db, `SELECT "actor", "action", "affected" FROM "OutboxAction" ORDER BY "createdAt"`);
    expect(actions).toEqual([1, 2].map(() => ({ actor: "test", action: "leads.dedupe", affected: 1 })));
  });

  test("beside redeliveries of the conversions leaves one opportunity for each lead", async () => {
    const db = await openDirtyDatabase();
    const leads = Array.from({ length: 6 }, (_, index) => index + 1);
    const made = await seed(
      db,
      [...leads, ...leads].map((lead) => ({ lead, age: 0, notes: 0 })),
    );
    const { contactId, companyId } = await db.prisma.opportunity.findFirstOrThrow();
    const redeliver = (lead: number): Promise<void> =>
      deliver(db, [opportunityCreate], {
        id: randomUUID(),
        tenantId: TENANT,
        type: "record.lead.converted",
        payload: { object: "lead", recordId: leadId(lead), contactId, companyId, opportunityName: "Deal" },
        position: 1n,
        recordKey: `lead/${leadId(lead)}`,
        correlationId: null,
        depth: 0,
      });
    await Promise.all([dedupeOpportunities(db.prisma, MERGE), ...leads.map(redeliver), dedupeOpportunities(db.prisma, MERGE)]);
    const live = await rowsOf(db, `SELECT "id" FROM "Opportunity" WHERE "sourceLeadId" IS NOT NULL ORDER BY "number"`);
    expect(live).toEqual(leads.map((lead) => ({ id: keptOf(made, lead).id })));
    expect(await rowsOf(db, `SELECT count(*)::int AS "n" FROM "Opportunity"`)).toEqual([{ n: 12 }]);
  });
});
