import type { Consumer } from "@toolctrl/consumer/define";
import { receiptsOf } from "@toolctrl/consumer-testkit/installation";
import { transaction } from "@toolctrl/db/client";
import { createForm, submitForm, updateForm, type Form, type RouteRuleInput } from "@toolctrl/domain/forms";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createFormRouteConsumer } from "../src/consumers/create-form-route-consumer.ts";
import { deliveryOf, impatientPool } from "./delivery-of.ts";
import { openOneQueue, type OneQueueRig } from "./one-queue-rig.ts";

const ANN = { name: "Ann", email: "ann@example.com", copyTo: "archive@example.com" };
const ROUTES: RouteRuleInput[] = [
  { id: "lead", actions: [{ type: "lead", name: "name", email: "email" }] },
  {
    id: "tell",
    actions: [
      { type: "webhook" },
      { type: "notification", recipientId: null, title: "{{ data.name }}" },
      { type: "mail", to: { field: "copyTo" }, subject: "Copy", text: "{{ data.name }}" },
    ],
  },
];
const PUBLISHED = ["mail.message.send", "notification.message.create", "record.lead.created", "webhook.form.submitted"];

let rig: OneQueueRig;
let consumer: Consumer;
let form: Form;

beforeAll(async () => {
  rig = await openOneQueue("form-route");
  consumer = createFormRouteConsumer({ pool: rig.database.pool });
  const fields = [
    { name: "name", kind: "text" as const },
    { name: "email", kind: "email" as const },
    { name: "copyTo", kind: "text" as const },
  ];
  form = await rig.database.prisma.$transaction((tx) =>
    createForm(tx, { tenantId: rig.tenantId, name: "Contact", fields, routes: ROUTES }),
  );
});

afterAll(() => rig.close());

beforeEach(() => rig.database.pool.query(`TRUNCATE "OutboxReceipt", "OutboxEvent", "FormSubmission", "Lead" CASCADE`));

/** Sends the form; the event waits in the outbox. */
async function submit(data: JsonObject): Promise<{ submissionId: string; eventId: string; payload: JsonValue }> {
  const { tenantId, id: formId } = form;
  const { submission } = await rig.database.prisma.$transaction((tx) => submitForm(tx, { tenantId, formId, data }));
  const { rows } = await rig.database.pool.query<{ eventId: string; payload: JsonValue }>(
    `SELECT "id" AS "eventId", "payload" FROM "OutboxEvent" WHERE "recordKey" = $1`,
    [`submission/${submission.id}`],
  );
  const [event] = rows;
  if (event === undefined) throw new Error("expected the submission to have an event, got none");
  return { submissionId: submission.id, ...event };
}

const deliver = (submitted: { eventId: string; payload: JsonValue }, by: Consumer = consumer) =>
  by.handle(deliveryOf({ ...submitted, tenantId: rig.tenantId, type: "form.submission.received" }));

async function published(): Promise<string[]> {
  const { rows } = await rig.database.pool.query<{ type: string }>(
    `SELECT "eventType" AS "type" FROM "OutboxEvent" WHERE "eventType" <> 'form.submission.received' ORDER BY 1`,
  );
  return rows.map(({ type }) => type);
}

const leads = async (): Promise<number> => (await rig.database.pool.query(`SELECT 1 FROM "Lead"`)).rowCount ?? 0;

describe("form-route, with no claim before it", () => {
  test("makes one lead and one of each event for 20 deliveries of one event at once, and none when its receipt is cleaned away", async () => {
    const submitted = await submit(ANN);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => deliver(submitted)));
    const result = { leadId: expect.any(String), leadCreated: true, rules: ["lead", "tell"], events: 3 };
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => ({ kind: "done", result })));
    expect([await leads(), await published()]).toEqual([1, PUBLISHED]);
    await rig.database.pool.query(`DELETE FROM "OutboxReceipt"`);
    expect(await deliver(submitted)).toMatchObject({ kind: "done", result: { leadCreated: false } });
    expect([await leads(), await published()]).toEqual([1, PUBLISHED]);
  });

  test("makes one lead of a person who sends 40 forms at once, over two workers", async () => {
    const other = rig.database.openPool({ max: 8, name: "other" });
    const workers = [consumer, createFormRouteConsumer({ pool: other })];
    const sent = await Promise.all(
      Array.from({ length: 40 }, (_, n) => submit({ ...ANN, email: n % 2 === 0 ? ANN.email : "ANN@example.com" })),
    );
    const outcomes = await Promise.all(sent.map((submitted, n) => deliver(submitted, workers[n % 2])));
    await other.end();
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(["done"]));
    expect(await leads()).toBe(1);
    expect((await published()).filter((type) => type === "record.lead.created")).toHaveLength(1);
    expect((await rig.database.pool.query(`SELECT DISTINCT "leadId" FROM "FormSubmission" WHERE "leadId" IS NOT NULL`)).rowCount).toBe(1);
  });

  test("writes neither lead, events nor receipt when the last write fails, and all of them when it is delivered again", async () => {
    const submitted = await submit(ANN);
    await rig.database.pool.query(`ALTER TABLE "FormSubmission" ADD CONSTRAINT broken CHECK ("routedAt" IS NULL)`);
    await expect(deliver(submitted)).rejects.toThrow("broken");
    expect([await leads(), await published(), await receiptsOf(rig, submitted.eventId)]).toEqual([0, [], []]);
    await rig.database.pool.query(`ALTER TABLE "FormSubmission" DROP CONSTRAINT broken`);
    expect(await deliver(submitted)).toMatchObject({ kind: "done" });
    expect([await leads(), await published()]).toEqual([1, PUBLISHED]);
  });

  test("snoozes, using no attempt, when somebody makes the person's lead for longer than the lock time-out", async () => {
    const submitted = await submit(ANN);
    const impatient = createFormRouteConsumer({ pool: impatientPool(rig.database.pool) });
    await transaction(rig.database.pool, async (tx) => {
      await tx.query(`INSERT INTO "Lead" ("id", "tenantId", "name", "sourceKey") VALUES (gen_random_uuid(), $1, 'x', $2)`, [
        rig.tenantId,
        `form:${form.id}:${ANN.email}`,
      ]);
      expect(await deliver(submitted, impatient)).toEqual({ kind: "snooze", untilMs: expect.any(Number) });
    });
  });

  const id = "0190a0a0-0000-7000-8000-000000000001";
  test.each<[string, JsonValue, string[]]>([
    ["no submission", { object: "submission", formId: id, formVersion: 1 }, ["recordId"]],
    ["another object", { object: "lead", recordId: id, formId: id, formVersion: 1 }, ["object"]],
    ["what was written in it", { object: "submission", recordId: id, formId: id, formVersion: 1, data: { name: "Ann" } }, ["data"]],
    ["a text for an id", { object: "submission", recordId: "Ann", formId: id, formVersion: 1 }, ["recordId"]],
  ])("gives up at once on a payload with %s, naming the path and no value", async (_what, payload, paths) => {
    const error: unknown = await deliver({ eventId: id, payload }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "RECEIVER.PAYLOAD", retry: false, facts: { paths } });
    expect(String(error)).not.toContain("Ann");
  });

  test("gives up at once on a submission that is not there, or another tenant's", async () => {
    const { eventId, payload } = await submit(ANN);
    const theirs = deliveryOf({ eventId, payload, tenantId: "another", type: "form.submission.received" });
    await expect(consumer.handle(theirs)).rejects.toMatchObject({ code: "FORM.NOT_FOUND", retry: false });
    expect([await leads(), await published()]).toEqual([0, []]);
  });
});

describe("form-route, behind its queue", () => {
  /** Sends the form and hands its event off. */
  async function send(data: JsonObject): Promise<string> {
    const { payload } = await submit(data);
    // The rig's own publish hands off what is due: all of it.
    await rig.database.pool.query(`DELETE FROM "OutboxEvent"`);
    return rig.publish("form.submission.received", payload as JsonObject);
  }

  test("routes a submission; what it publishes says so, and its trace shows the submission and the lead", async () => {
    const eventId = await send(ANN);
    await rig.untilReceipts(eventId, ["form-route done"]);
    const { rows } = await rig.database.pool.query<{ id: string; leadId: string }>(`SELECT "id", "leadId" FROM "FormSubmission"`);
    expect((await rig.trace(eventId)).effects).toMatchObject([
      { table: "FormSubmission", key: rows[0]?.id },
      { table: "Lead", key: rows[0]?.leadId },
    ]);
    expect(await published()).toEqual(PUBLISHED);
    const causes = `SELECT DISTINCT "causationId", "depth" FROM "OutboxEvent" WHERE "id" <> $1`;
    expect((await rig.database.pool.query(causes, [eventId])).rows).toEqual([{ causationId: eventId, depth: 1 }]);
  });

  test.each(["one@example.com,two@example.com", "one@example.com\r\nRCPT TO:<two@example.com>"])(
    "is one dead letter where a rule's recipient was filled in as %j: no mail at all; once the rule is mended and the event requeued, it is routed",
    async (copyTo) => {
      const eventId = await send({ ...ANN, copyTo });
      await rig.untilReceipts(eventId, ["form-route dead"]);
      expect([await leads(), await published()]).toEqual([0, []]);
      const { verdict, receipts, jobs } = await rig.trace(eventId);
      expect(verdict).toMatchObject({ state: "dead" });
      expect(jobs).toMatchObject([{ view: { state: "failed" } }]);
      expect(receipts[0]?.detail).toMatch(/FORM\.ROUTE.*action 2 of rule tell, a mail/);
      expect(receipts[0]?.detail).not.toContain("example.com");

      const { id, tenantId } = form;
      const mended = ROUTES.map((rule) => ({ ...rule, actions: rule.actions.filter(({ type }) => type !== "mail") }));
      await rig.database.prisma.$transaction((tx) => updateForm(tx, { id, tenantId, routes: mended }));
      await rig.requeue(eventId);
      await rig.untilReceipts(eventId, ["form-route done"]);
      await rig.database.prisma.$transaction((tx) => updateForm(tx, { id, tenantId, routes: ROUTES }));
      expect([await leads(), await published()]).toEqual([1, PUBLISHED.filter((type) => type !== "mail.message.send")]);
    },
  );

  test("does everything but the lead once more when its event is replayed; a requeue does nothing", async () => {
    const eventId = await send(ANN);
    await rig.untilReceipts(eventId, ["form-route done"]);
    await rig.requeue(eventId);
    await waitFor(async () => (await rig.trace(eventId)).jobs[1]?.view?.state === "completed", { what: "the requeued job to be done" });
    expect(await published()).toEqual(PUBLISHED);
    await rig.requeue(eventId, { replay: true });
    await rig.untilReceipts(eventId, ["form-route done", "form-route done"]);
    const again = PUBLISHED.filter((type) => type !== "record.lead.created");
    expect([await leads(), await published()]).toEqual([1, [...PUBLISHED, ...again].sort()]);
  });
});
