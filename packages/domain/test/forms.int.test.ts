import type { Prisma } from "@toolctrl/db/client";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, test } from "vitest";
import { createForm, readForm, readSubmission, submitForm, updateForm } from "../src/forms.ts";
import { ANN, COUNTS, FIELDS, form, inTx, routeKey, submit } from "./form-support.ts";
import { gate, openDatabase, publishedEvents, rejection, rowsOf, TENANT, WAITING } from "./support.ts";

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
