import { randomUUID } from "node:crypto";
import type { EffectEvent } from "@toolctrl/db/after-save-effect";
import { transaction, violatedConstraint, type Database, type Prisma } from "@toolctrl/db/client";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { afterSaveEffects } from "../src/after-save-effects.ts";
import {
  convertLead,
  createLead,
  formatOpportunityNumber,
  opportunityCreate,
  parseOpportunityNumber,
  type Conversion,
} from "../src/leads.ts";
import { deliver, gate, openDatabase, publishedEvents, rejection, rowsOf, TENANT, WAITING } from "./support.ts";

const IN_TX = { maxWait: 60_000, timeout: 60_000 };
const EFFECTS = afterSaveEffects();
const NUMBERS = `SELECT "number"::int AS "number" FROM "Opportunity" WHERE "tenantId" = $1 ORDER BY 1`;

const lead = (db: Database, name: string, tenantId = TENANT): Promise<string> =>
  db.prisma.$transaction((tx) => createLead(tx, { tenantId, name, email: `${name}@example.com`, companyName: "ACME" }), IN_TX);
const convert = (db: Database, leadId: string, tenantId = TENANT) =>
  db.prisma.$transaction((tx) => convertLead(tx, { tenantId, leadId }), IN_TX);

/** Converts a new lead. @returns the conversion's event */
async function converted(db: Database, name: string, tenantId = TENANT): Promise<EffectEvent> {
  const { eventId } = await convert(db, await lead(db, name, tenantId), tenantId);
  return (await publishedEvents(db)).find(({ id }) => id === eventId) as EffectEvent;
}

describe("converting a lead", () => {
  test("yields contact, company and one event with all that the opportunity needs", async () => {
    const db = await openDatabase();
    const leadId = await lead(db, "ann");
    const { contactId, companyId, eventId, alreadyConverted } = await convert(db, leadId);
    expect(alreadyConverted).toBe(false);
    expect(await db.prisma.lead.findUnique({ where: { id: leadId } })).toMatchObject({
      status: "converted",
      contactId,
      companyId,
      conversionEventId: eventId,
    });
    expect((await publishedEvents(db)).at(-1)).toMatchObject({
      id: eventId,
      type: "record.lead.converted",
      recordKey: `lead/${leadId}`,
      payload: { object: "lead", recordId: leadId, contactId, companyId, opportunityName: "ACME" },
    });
  });

  test("its events say what they belong to, as those of rows do", async () => {
    const db = await openDatabase();
    const event = { correlationId: "c-1", causationId: "e-0", depth: 2 };
    await db.prisma.$transaction(async (tx) => {
      const leadId = await createLead(tx, { tenantId: TENANT, name: "Ann", event });
      await convertLead(tx, { tenantId: TENANT, leadId, event });
    }, IN_TX);
    const events = (await publishedEvents(db)).map(({ type, correlationId, depth }) => ({ type, correlationId, depth }));
    expect(events).toEqual(["created", "converted"].map((change) => ({ type: `record.lead.${change}`, correlationId: "c-1", depth: 2 })));
  });

  test("20 times at once on connections of their own gives all the same ids, one of everything, and no error", async () => {
    const db = await openDatabase(22);
    const leadId = await lead(db, "ann");
    // A company that is being made elsewhere stops whoever comes so far; so all 20 are on their way when it is given up.
    const [made, giveUp] = [gate(), gate()];
    const rival = transaction(db.pool, async (tx) => {
      await tx.query(`INSERT INTO "Company" ("id", "tenantId", "name", "nameKey") VALUES (gen_random_uuid(), $1, 'ACME', 'acme')`, [
        TENANT,
      ]);
      made.open();
      await giveUp.opened;
      throw new Error("given up");
    });
    await made.opened;
    const conversions = Array.from({ length: 20 }, () => convert(db, leadId));
    await waitFor(async () => (await db.pool.query(WAITING)).rowCount === 20, { what: "all 20 to wait" });
    giveUp.open();
    await rejection(rival);
    const results = await Promise.all(conversions);
    const ids = results.map(({ contactId, companyId, eventId }) => `${contactId} ${companyId} ${eventId}`);
    expect(new Set(ids).size).toBe(1);
    expect(results.filter(({ alreadyConverted }) => !alreadyConverted)).toHaveLength(1);
    const counts = `SELECT (SELECT count(*) FROM "Contact")::int AS "contacts", (SELECT count(*) FROM "Company")::int AS "companies",
      (SELECT count(*) FROM "OutboxEvent" WHERE "eventType" = 'record.lead.converted')::int AS "events"`;
    expect(await rowsOf(db, counts)).toEqual([{ contacts: 1, companies: 1, events: 1 }]);
  });

  test("20 leads of one person and company at once share contact and company, however they are written", async () => {
    const db = await openDatabase(20);
    const spellings = ["ACME Inc", " acme  inc", "Acme Inc ", "\uff21cme inc"];
    const leads = await Promise.all(
      Array.from({ length: 20 }, (_, n) => {
        const input = { tenantId: TENANT, name: "Ann", email: n % 2 === 0 ? "ann@example.com" : "Ann@Example.com" };
        return db.prisma.$transaction((tx) => createLead(tx, { ...input, companyName: spellings[n % 4] ?? "" }), IN_TX);
      }),
    );
    const results = await Promise.all(leads.map((id) => convert(db, id)));
    expect(new Set(results.map(({ contactId }) => contactId)).size).toBe(1);
    expect(new Set(results.map(({ companyId }) => companyId)).size).toBe(1);
  });

  test("without address and company makes a contact of its own and a company of its name; another tenant shares nothing", async () => {
    const db = await openDatabase();
    const results: Conversion[] = [];
    for (const tenantId of [TENANT, TENANT, "tenant-b"]) {
      const leadId = await db.prisma.$transaction((tx) => createLead(tx, { tenantId, name: "Ann" }));
      results.push(await convert(db, leadId, tenantId));
    }
    expect(new Set(results.map(({ contactId }) => contactId)).size).toBe(3);
    expect(results.map(({ companyId }) => results.findIndex((other) => other.companyId === companyId))).toEqual([0, 0, 2]);
  });

  test("rolled back leaves nothing; of another tenant's lead is refused", async () => {
    const db = await openDatabase();
    const leadId = await lead(db, "ann");
    const undone = db.prisma.$transaction(async (tx) => {
      await convertLead(tx, { tenantId: TENANT, leadId });
      throw new Error("no");
    });
    await rejection(undone);
    expect(await rowsOf(db, `SELECT "status", (SELECT count(*)::int FROM "Company") AS "companies" FROM "Lead"`)).toEqual([
      { status: "open", companies: 0 },
    ]);
    expect(await rejection(convert(db, leadId, "tenant-b"))).toMatchObject({ code: "LEAD.NOT_FOUND" });
  });

  test.each([
    [{ name: " " }, "LEAD.ARGUMENT"],
    [{ name: "x\u0000" }, "LEAD.ARGUMENT"],
    [{ name: "Ann", companyName: "" }, "LEAD.ARGUMENT"],
    [{ name: "Ann", email: "a@example.com, b@example.com" }, "MAIL.ADDRESS"],
  ])("a lead like %j is refused before any SQL", async (input, code) => {
    expect(await rejection(createLead({} as Prisma.TransactionClient, { tenantId: TENANT, ...input }))).toMatchObject({ code });
  });
});

describe("the opportunity of a conversion", () => {
  // The first two are what a database is like before the key's migration, and after a build that failed.
  const KEY = `"Opportunity_tenantId_sourceLeadId_key"`;
  test.each([
    ["no unique key", `DROP INDEX ${KEY}`],
    ["an invalid unique key", `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '${KEY}'::regclass`],
    ["the unique key", `SELECT 1`],
  ])("is made once by 20 deliveries at once and more in sequence, with %s, and burns no number", async (_what, statement) => {
    const db = await openDatabase(20);
    await db.pool.query(statement);
    const events = [await converted(db, "ann"), await converted(db, "bob")];
    const [ann, bob] = events.map(({ payload }) => (payload as { recordId: string }).recordId);
    for (const event of events) {
      await Promise.all(Array.from({ length: 20 }, () => deliver(db, EFFECTS, event)));
      await deliver(db, EFFECTS, event);
    }
    expect(await rowsOf(db, `SELECT "number"::int AS "number", "sourceLeadId" AS "lead", "name" FROM "Opportunity" ORDER BY 1`)).toEqual([
      { number: 1, lead: ann, name: "ACME" },
      { number: 2, lead: bob, name: "ACME" },
    ]);
  });

  test("whose attempt is rolled back gives its number back", async () => {
    const db = await openDatabase();
    const [first, second] = [await converted(db, "ann"), await converted(db, "bob")];
    const fail = (): Promise<void> => Promise.reject(new Error("a later effect fails"));
    for (let attempt = 0; attempt < 3; attempt += 1) await rejection(deliver(db, EFFECTS, first, fail));
    expect(await rowsOf(db, `SELECT 1 FROM "TenantCounter"`)).toEqual([]);
    await deliver(db, EFFECTS, second);
    await deliver(db, EFFECTS, first);
    expect(await rowsOf(db, NUMBERS, [TENANT])).toEqual([{ number: 1 }, { number: 2 }]);
  });

  test("is numbered from 1 for each tenant", async () => {
    const db = await openDatabase();
    for (const tenantId of [TENANT, "tenant-b", TENANT]) await deliver(db, EFFECTS, await converted(db, `l${Math.random()}`, tenantId));
    expect(await rowsOf(db, NUMBERS, ["tenant-b"])).toEqual([{ number: 1 }]);
    expect(await rowsOf(db, NUMBERS, [TENANT])).toEqual([{ number: 1 }, { number: 2 }]);
  });

  test("a second one of its lead and a second one of its number are told apart", async () => {
    const db = await openDatabase();
    await deliver(db, EFFECTS, await converted(db, "ann"));
    const first = await db.prisma.opportunity.findFirstOrThrow();
    const again = (change: object): Promise<unknown> => db.prisma.opportunity.create({ data: { ...first, ...change, id: randomUUID() } });
    expect(violatedConstraint(await rejection(again({ number: 2n })))).toBe("Opportunity_tenantId_sourceLeadId_key");
    expect(violatedConstraint(await rejection(again({ sourceLeadId: null })))).toBe("Opportunity_tenantId_number_key");
  });

  test("of a payload that is none fails its event instead of making something else", async () => {
    const db = await openDatabase();
    const event = { ...(await converted(db, "ann")), payload: { object: "lead" } };
    expect(await rejection(deliver(db, [opportunityCreate], event))).toMatchObject({ code: "RECEIVER.PAYLOAD" });
  });
});

test("human numbers have at least six digits and are read back however they are typed", () => {
  expect([1n, 123n, 999_999n, 1_000_000n].map(formatOpportunityNumber)).toEqual(["OPP-000001", "OPP-000123", "OPP-999999", "OPP-1000000"]);
  expect(["OPP-000123", " opp-123 ", "OPP123"].map(parseOpportunityNumber)).toEqual([123n, 123n, 123n]);
  expect(["", "OPP-", "OPP-0", "OPP-1x", "123"].map(parseOpportunityNumber)).toEqual([null, null, null, null, null]);
});
