import { describe, expect, test } from "vitest";
import { listApplicationEvents } from "../src/events-service.ts";
import { submitForm, type NewSubmission } from "../src/forms.ts";
import { countsOf, REQUEST, RUN_ID, typesOf, viaPrisma, viaRawSql, WORKFLOW } from "./application-event-support.ts";
import { ANN, form, route, submit } from "./form-support.ts";
import { openDatabase, publishedEvents, rejection, rowsOf, TENANT } from "./support.ts";

const TOLD = [
  "form.submission.received",
  "workflow.trigger.event",
  "webhook.form.submitted",
  "notification.message.create",
  "notification.message.create",
];

describe.each([
  ["Prisma's", viaPrisma],
  ["raw SQL's", viaRawSql],
])("in a transaction of %s", (_name, inTx) => {
  test("a form that somebody sends is an application event of the form, with what was sent", async () => {
    const db = await openDatabase();
    const contact = await form(db, { routes: [] });
    const input: NewSubmission = { tenantId: TENANT, formId: contact.id, data: ANN, context: REQUEST, event: { correlationId: "c-1" } };
    const { submission } = await inTx(db, (tx) => submitForm(tx, input));
    const about = { object: contact.id, recordId: submission.id };
    expect(await listApplicationEvents(db.prisma, { tenantId: TENANT, ...about })).toMatchObject([
      { type: "form.submitted", source: "request", actor: "ann", data: ANN },
    ]);
    const published = await publishedEvents(db);
    expect(published.map(({ type }) => type)).toEqual(TOLD);
    for (const each of published) expect(each.correlationId).toBe("c-1");
    expect(published[1]?.payload).toEqual({ source: "form", eventType: "form.submitted", ...about, data: ANN });
    expect(published[2]?.payload).toEqual({
      formId: contact.id,
      formName: "Contact",
      submissionId: submission.id,
      submittedAt: submission.submittedAt.toISOString(),
      leadId: null,
      data: ANN,
    });
  });

  test("of a workflow it calls nobody and tells nobody, and without a context it is no application event", async () => {
    const db = await openDatabase();
    const contact = await form(db, { routes: [] });
    const input = { tenantId: TENANT, formId: contact.id, data: ANN };
    await inTx(db, (tx) => submitForm(tx, input));
    expect([await typesOf(db), (await countsOf(db))["happened"]]).toEqual([["form.submission.received"], 0]);
    const { submission } = await inTx(db, (tx) => submitForm(tx, { ...input, context: WORKFLOW }));
    expect((await typesOf(db)).slice(1)).toEqual(["form.submission.received", "workflow.trigger.event"]);
    const about = { tenantId: TENANT, object: contact.id, recordId: submission.id };
    expect(await listApplicationEvents(db.prisma, about)).toMatchObject([{ source: "workflow", actor: RUN_ID }]);
  });

  test("nothing of it is there before the commit, nor after a rollback", async () => {
    const db = await openDatabase();
    const contact = await form(db, { routes: [] });
    const undone = inTx(db, async (tx) => {
      await submitForm(tx, { tenantId: TENANT, formId: contact.id, data: ANN, context: REQUEST });
      expect(await countsOf(db)).toEqual({ rows: 0, happened: 0 });
      throw new Error("no");
    });
    expect((await rejection(undone)).message).toBe("no");
    expect(await countsOf(db)).toEqual({ rows: 0, happened: 0 });
  });
});

test("a form that is sent 20 times at once with one key is one application event, and one call-out", async () => {
  const db = await openDatabase(20);
  const contact = await form(db, { routes: [] });
  const once = { submissionKey: "click-1", context: REQUEST };
  await Promise.all(Array.from({ length: 20 }, () => submit(db, contact, ANN, once)));
  expect((await submit(db, contact, ANN, once)).duplicate).toBe(true);
  expect([await typesOf(db), (await countsOf(db))["happened"]]).toEqual([TOLD, 1]);
});

test("where a rule of the form calls the endpoints with its type, they hear of a submission once: from the rule", async () => {
  const db = await openDatabase();
  const contact = await form(db, { routes: [{ id: "call", actions: [{ type: "webhook" }] }] });
  const other = await form(db, { routes: [{ id: "call", actions: [{ type: "webhook", event: "webhook.sales.asked" }] }] });
  for (const each of [contact, other]) await route(db, await submit(db, each, ANN, { context: REQUEST }));
  const callOuts = (await typesOf(db)).filter((type) => String(type).startsWith("webhook."));
  expect(callOuts).toEqual(["webhook.form.submitted", "webhook.form.submitted", "webhook.sales.asked"]);
});

test("a context that is none is refused before any SQL, so the transaction can still commit", async () => {
  const db = await openDatabase();
  const contact = await form(db, { routes: [] });
  await viaRawSql(db, async (tx) => {
    const input = { tenantId: TENANT, formId: contact.id, data: ANN };
    const refused = submitForm(tx, { ...input, context: { kind: "workflow", executionId: "run 7" } });
    expect(await rejection(refused)).toMatchObject({ code: "PUBLISH.ARGUMENT" });
    await submitForm(tx, input);
  });
  expect(await rowsOf(db, `SELECT count(*)::int AS "n" FROM "FormSubmission"`)).toEqual([{ n: 1 }]);
  expect(await typesOf(db)).toEqual(["form.submission.received"]);
});
