import { transaction } from "@toolctrl/db/client";
import type { JsonObject } from "@toolctrl/foundation/json";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { readSubmission, updateForm } from "../src/forms.ts";
import { ANN, COUNTS, EVENT_ID, form, inTx, LEAD_RULE, route, routeKey, submit } from "./form-support.ts";
import { gate, openDatabase, publishedEvents, rejection, rowsOf, TENANT, WAITING } from "./support.ts";

describe("routing a submission", () => {
  test("makes its lead and the events of its rules, which say what they come from", async () => {
    const db = await openDatabase();
    const sent = await submit(db, await form(db), { ...ANN, company: "ACME Inc", topic: "demo" });
    const { leadId, ...routed } = await route(db, sent);
    expect(routed).toEqual({ leadCreated: true, rules: ["lead", "thank-you", "demo"], events: 3 });
    expect(await db.prisma.lead.findMany()).toMatchObject([
      { id: leadId, name: "Ann", email: ANN.email, companyName: "ACME Inc", status: "open" },
    ]);
    expect(await readSubmission(db.prisma, sent.submission)).toMatchObject({ leadId, routedAt: expect.any(Date) });
    const [, ...events] = await publishedEvents(db);
    expect(events.map(({ type }) => type)).toEqual([
      "record.lead.created",
      "webhook.form.submitted",
      "notification.message.create",
      "mail.message.send",
    ]);
    const from = { causationId: EVENT_ID, correlationId: "c-1", depth: 3 };
    expect(await rowsOf(db, `SELECT "causationId", "correlationId", "depth" FROM "OutboxEvent" ORDER BY "position" OFFSET 1`)).toEqual(
      events.map(() => from),
    );
    expect(events[0]).toMatchObject({ recordKey: `lead/${leadId}`, payload: { lead: { name: "Ann", companyName: "ACME Inc" } } });
  });

  // The rival holds the lead's key as a worker does that is in the middle of its transaction.
  test.each(["given up", "committed"])(
    "20 times at once for one person, behind a rival's lead that is %s: one lead, no error",
    async (end) => {
      const db = await openDatabase(22);
      const contact = await form(db);
      const spellings = ["ann@example.com", "Ann@Example.com", "ANN@example.com"];
      const sent = await Promise.all(
        Array.from({ length: 20 }, (_, n) => submit(db, contact, { ...ANN, fullName: `Ann ${n}`, email: spellings[n % 3] ?? "" })),
      );
      const [made, over] = [gate(), gate()];
      const rival = transaction(db.pool, async (tx) => {
        await tx.query(`INSERT INTO "Lead" ("id", "tenantId", "name", "sourceKey") VALUES (gen_random_uuid(), $1, 'Rival', $2)`, [
          TENANT,
          `form:${contact.id}:ann@example.com`,
        ]);
        made.open();
        await over.opened;
        if (end === "given up") throw new Error(end);
      }).catch(() => undefined);
      await made.opened;
      const routing = sent.map((each) => route(db, each));
      await waitFor(async () => (await db.pool.query(WAITING)).rowCount === 20, { what: "all 20 to wait" });
      over.open();
      await rival;
      const routed = await Promise.all(routing);
      expect(new Set(routed.map(({ leadId }) => leadId)).size).toBe(1);
      expect(routed.filter(({ leadCreated }) => leadCreated)).toHaveLength(end === "given up" ? 1 : 0);
      const created = `SELECT 1 FROM "OutboxEvent" WHERE "eventType" = 'record.lead.created'`;
      expect(await rowsOf(db, created)).toHaveLength(end === "given up" ? 1 : 0);
      expect(await rowsOf(db, `SELECT count(*)::int AS "n" FROM "Lead"`)).toEqual([{ n: 1 }]);
      expect(
        await rowsOf(db, `SELECT count(DISTINCT "leadId")::int AS "leads" FROM "FormSubmission" WHERE "routedAt" IS NOT NULL`),
      ).toEqual([{ leads: 1 }]);
    },
  );

  test("of somebody known leaves the lead as it is; another form and another tenant share none", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const first = await route(db, await submit(db, contact, ANN));
    const again = await route(db, await submit(db, contact, { ...ANN, fullName: "Somebody Else", company: "New" }));
    expect(again).toMatchObject({ leadId: first.leadId, leadCreated: false });
    const others = [await form(db), await form(db, { tenantId: "tenant-b" })];
    for (const other of others) expect((await route(db, await submit(db, other, ANN))).leadCreated).toBe(true);
    expect(await rowsOf(db, `SELECT "name", "companyName" FROM "Lead" WHERE "id" = $1`, [first.leadId])).toEqual([
      { name: "Ann", companyName: null },
    ]);
  });

  test("again, with its receipt lost, changes nothing; a deliberate repeat publishes anew and keeps the lead", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    for (const data of [ANN, { fullName: "Nobody" }]) {
      const sent = await submit(db, contact, data);
      const first = await route(db, sent);
      const counts = await rowsOf(db, COUNTS);
      expect(await Promise.all([route(db, sent), route(db, sent)])).toEqual([
        { ...first, leadCreated: false },
        { ...first, leadCreated: false },
      ]);
      expect(await rowsOf(db, COUNTS)).toEqual(counts);
      const { events = 0, ...same } = counts[0] as { events?: number };
      await route(db, sent, 1);
      expect(await rowsOf(db, COUNTS)).toEqual([{ ...same, events: events + first.events }]);
    }
  });

  test("with a recipient that is a list or breaks the line leaves nothing, not even the lead; with its rule mended it is whole", async () => {
    const db = await openDatabase();
    const copy = (to: { field: string } | string) => [
      LEAD_RULE,
      { id: "copy", actions: [{ type: "mail" as const, to, subject: "Copy", text: "{{ data.fullName }}" }] },
    ];
    const contact = await form(db, { routes: copy({ field: "copyTo" }) });
    for (const copyTo of ["a@b.test,c@d.test", "a@b.test\r\nRCPT TO:<c@d.test>"]) {
      const sent = await submit(db, contact, { ...ANN, email: `${copyTo.length}@example.com`, copyTo });
      const before = await rowsOf(db, COUNTS);
      expect(await rejection(route(db, sent))).toMatchObject({ code: "FORM.ROUTE", retry: false });
      expect(await rowsOf(db, COUNTS)).toEqual(before);
      expect(await readSubmission(db.prisma, sent.submission)).toEqual(sent.submission);
    }
    const { rows } = await db.pool.query<{ id: string }>(`SELECT "id" FROM "FormSubmission"`);
    await inTx(db, (tx) => updateForm(tx, { id: contact.id, tenantId: TENANT, routes: copy("archive@example.com") }));
    for (const { id } of rows) {
      expect(await routeKey(db, { id, tenantId: TENANT })).toMatchObject({ leadCreated: true, events: 1 });
    }
  });

  test("takes the first lead that its rules make, and a name from what there is", async () => {
    const db = await openDatabase();
    const routes = [
      { id: "partner", when: { field: "topic", equals: "Support" }, actions: [{ type: "lead" as const, companyName: "company" }] },
      { id: "person", actions: [{ type: "lead" as const, name: "copyTo", email: "email", companyName: "company" }] },
    ];
    const contact = await form(db, { routes });
    const nameOf = async (data: JsonObject): Promise<unknown> => {
      const { leadId } = await route(db, await submit(db, contact, { fullName: "-", ...data }));
      return (await rowsOf(db, `SELECT "name" FROM "Lead" WHERE "id" = $1`, [leadId]))[0]?.["name"];
    };
    expect(await nameOf({ topic: "Support", company: "ACME", copyTo: "Ann" })).toBe("ACME");
    expect(await nameOf({ copyTo: `${"x".repeat(199)}\u{1F600}` })).toBe("x".repeat(199));
    expect(await nameOf({ email: "Ann@example.com", company: "ACME" })).toBe("Ann@example.com");
    expect(await nameOf({})).toBeUndefined();
  });
});
