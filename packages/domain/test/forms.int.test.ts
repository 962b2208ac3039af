import { transaction, type Database, type Prisma } from "@toolctrl/db/client";
import { outboxTransactionOf } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import {
  createForm,
  readForm,
  readSubmission,
  routeSubmission,
  submitForm,
  updateForm,
  type Form,
  type FormKey,
  type NewForm,
  type NewSubmission,
  type RoutedSubmission,
  type SubmittedForm,
} from "../src/forms.ts";
import { FIELDS, LEAD_RULE, ROUTES } from "./form-support.ts";
import { gate, openDatabase, publishedEvents, rejection, rowsOf, TENANT, WAITING } from "./support.ts";

const IN_TX = { maxWait: 60_000, timeout: 60_000 };
const ANN = { fullName: "Ann", email: "ann@example.com" };
const EVENT_ID = "0190a0a0-0000-7000-8000-0000000000e0";
const COUNTS = `SELECT (SELECT count(*) FROM "FormSubmission")::int AS "submissions", (SELECT count(*) FROM "Lead")::int AS "leads",
  (SELECT count(*) FROM "OutboxEvent")::int AS "events"`;

const inTx = <T>(db: Database, run: (tx: Prisma.TransactionClient) => Promise<T>): Promise<T> => db.prisma.$transaction(run, IN_TX);
const form = (db: Database, change: Partial<NewForm> = {}): Promise<Form> =>
  inTx(db, (tx) => createForm(tx, { tenantId: TENANT, name: "Contact", fields: FIELDS, routes: ROUTES, ...change }));
const submit = (db: Database, { id, tenantId }: Form, data: JsonObject, more: Partial<NewSubmission> = {}): Promise<SubmittedForm> =>
  inTx(db, (tx) => submitForm(tx, { tenantId, formId: id, data, ...more }));

/** Routes a submission as the consumer does, in raw SQL, but with no receipt before it. */
function routeKey(db: Database, { id, tenantId }: FormKey, effectEpoch = 0): Promise<RoutedSubmission> {
  const event = { causationId: EVENT_ID, correlationId: "c-1", depth: 3 };
  return transaction(db.pool, (tx) => routeSubmission(outboxTransactionOf(tx), { id, tenantId, effectEpoch, event }));
}

const route = (db: Database, { submission }: SubmittedForm, effectEpoch = 0) => routeKey(db, submission, effectEpoch);

describe("a submission", () => {
  test("and its event are there together or not at all", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const event = { correlationId: "c-1", depth: 2 };
    const { submission, duplicate } = await submit(db, contact, { ...ANN, company: "" }, { event });
    expect([duplicate, submission]).toMatchObject([false, { formId: contact.id, formVersion: 1, data: ANN, routedAt: null, leadId: null }]);
    const undone = inTx(db, async (tx) => {
      await submitForm(tx, { tenantId: TENANT, formId: contact.id, data: ANN });
      throw new Error("no");
    });
    await rejection(undone);
    expect(await readSubmission(db.prisma, submission)).toEqual(submission);
    expect(await publishedEvents(db)).toMatchObject([
      {
        type: "form.submission.received",
        payload: { object: "submission", recordId: submission.id, formId: contact.id, formVersion: 1 },
        recordKey: `submission/${submission.id}`,
        ...event,
      },
    ]);
    expect(await rowsOf(db, COUNTS)).toEqual([{ submissions: 1, leads: 0, events: 1 }]);
  });

  test("sent 20 times at once with one key is one, with one event, and everybody gets it; a key belongs to its form", async () => {
    const db = await openDatabase(20);
    const [contact, other] = [await form(db), await form(db)];
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, n) => submit(db, contact, { ...ANN, seats: n }, { submissionKey: "click-1" })),
    );
    expect(new Set(sent.map(({ submission }) => JSON.stringify(submission))).size).toBe(1);
    expect(sent.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect((await submit(db, other, ANN, { submissionKey: "click-1" })).duplicate).toBe(false);
    expect(await rowsOf(db, COUNTS)).toEqual([{ submissions: 2, leads: 0, events: 2 }]);
    expect(await rowsOf(db, `SELECT "dispatchKey" FROM "OutboxEvent" ORDER BY "position" LIMIT 1`)).toEqual([
      { dispatchKey: `form:${contact.id}:click-1` },
    ]);
  });

  test("sent again with its key is the first one, whatever its data, and also when retention has deleted the event", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const first = await submit(db, contact, ANN, { submissionKey: "click-1" });
    await db.pool.query(`DELETE FROM "OutboxEvent"`);
    const again = await submit(db, contact, { seats: "not a number" }, { submissionKey: "click-1" });
    expect(again).toEqual({ ...first, duplicate: true });
    expect(await rowsOf(db, COUNTS)).toEqual([{ submissions: 1, leads: 0, events: 0 }]);
  });

  test("whose namesake was deleted is not lost behind that one's event", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const gone = await submit(db, contact, ANN, { submissionKey: "click-1" });
    await db.pool.query(`DELETE FROM "FormSubmission"`);
    const { submission } = await submit(db, contact, ANN, { submissionKey: "click-1" });
    expect((await publishedEvents(db)).map(({ recordKey }) => recordKey)).toEqual(
      [gone.submission.id, submission.id].map((id) => `submission/${id}`),
    );
  });

  test("that does not fit is refused with its fields, and the transaction can still commit", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    await inTx(db, async (tx) => {
      const error = await rejection(submitForm(tx, { tenantId: TENANT, formId: contact.id, data: { email: "x" } }));
      expect(error).toMatchObject({ code: "FORM.DATA", facts: { fields: [{ field: "fullName" }, { field: "email" }] } });
      expect(await rejection(submitForm(tx, { tenantId: TENANT, formId: contact.id, data: ANN, submissionKey: "" }))).toMatchObject({
        code: "FORM.ARGUMENT",
        facts: { paths: ["submissionKey"] },
      });
      expect(await rejection(submitForm(tx, { tenantId: TENANT, formId: "no uuid", data: ANN }))).toMatchObject({ code: "FORM.ARGUMENT" });
      await submitForm(tx, { tenantId: TENANT, formId: contact.id, data: ANN });
    });
    expect(await rowsOf(db, COUNTS)).toEqual([{ submissions: 1, leads: 0, events: 1 }]);
  });

  test("of another tenant's form is refused, and no tenant reads or changes what is another's", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const { submission } = await submit(db, contact, ANN);
    const theirs = { ...contact, tenantId: "tenant-b" };
    expect(await rejection(submit(db, theirs, ANN))).toMatchObject({ code: "FORM.NOT_FOUND" });
    expect(await rejection(inTx(db, (tx) => updateForm(tx, { id: contact.id, tenantId: "tenant-b", name: "x" })))).toMatchObject({
      code: "FORM.NOT_FOUND",
    });
    expect(await rejection(routeKey(db, { ...submission, tenantId: "tenant-b" }))).toMatchObject({
      code: "FORM.NOT_FOUND",
    });
    expect([await readForm(db.prisma, theirs), await readSubmission(db.prisma, { ...submission, tenantId: "tenant-b" })]).toEqual([
      null,
      null,
    ]);
  });

  test("through the root client is refused before it writes", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const root = db.prisma as unknown as Prisma.TransactionClient;
    const attempts = [
      () => createForm(root, { tenantId: TENANT, name: "n", fields: FIELDS }),
      () => updateForm(root, { ...contact, name: "n" }),
      () => submitForm(root, { tenantId: TENANT, formId: contact.id, data: ANN }),
    ];
    for (const attempt of attempts) expect(await rejection(attempt())).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
    expect(await rowsOf(db, COUNTS)).toEqual([{ submissions: 0, leads: 0, events: 0 }]);
  });
});

describe("a change of a form", () => {
  test("keeps what it does not name, and is one version more; one made from an older version is refused", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    const { id, tenantId } = contact;
    const renamed = await inTx(db, (tx) => updateForm(tx, { id, tenantId, name: "Talk to us", version: 1 }));
    expect(renamed).toMatchObject({ name: "Talk to us", fields: contact.fields, routes: contact.routes, version: 2 });
    expect(await readForm(db.prisma, contact)).toEqual(renamed);
    expect(await rejection(inTx(db, (tx) => updateForm(tx, { id, tenantId, name: "Mine", version: 1 })))).toMatchObject({
      code: "FORM.CONFLICT",
      facts: { expected: 1, got: 2 },
    });
    expect((await submit(db, renamed, ANN)).submission.formVersion).toBe(2);
  });

  test("that takes away a field which a rule needs is refused with the rule's path, and nothing of it is kept", async () => {
    const db = await openDatabase();
    const contact = await form(db);
    await inTx(db, async (tx) => {
      const fields = FIELDS.filter(({ name }) => name !== "email");
      expect(await rejection(updateForm(tx, { ...contact, fields }))).toMatchObject({
        code: "FORM.ARGUMENT",
        facts: { paths: ["routes.0.actions.0.email", "routes.1.when.field", "routes.1.actions.0.to.field"] },
      });
    });
    expect(await readForm(db.prisma, contact)).toEqual(contact);
  });

  test("that waits for another one keeps what that has changed", async () => {
    const db = await openDatabase();
    const { id, tenantId } = await form(db);
    const [renamed, over] = [gate(), gate()];
    const first = inTx(db, async (tx) => {
      await updateForm(tx, { id, tenantId, name: "Talk to us" });
      renamed.open();
      await over.opened;
    });
    await renamed.opened;
    const second = inTx(db, (tx) => updateForm(tx, { id, tenantId, routes: [] }));
    await waitFor(async () => (await db.pool.query(WAITING)).rowCount === 1, { what: "the second change to wait" });
    over.open();
    await first;
    expect(await second).toMatchObject({ name: "Talk to us", routes: [], version: 3 });
  });
});

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
