import type { Prisma } from "@toolctrl/db/client";
import type { OutboxTransaction } from "@toolctrl/db/outbox";
import type { JsonObject } from "@toolctrl/foundation/json";
import { describe, expect, test } from "vitest";
import { listApplicationEvents, publishApplicationEvent, type EventContext, type NewApplicationEvent } from "../src/events-service.ts";
import { REQUEST, RUN_ID, typesOf, viaPrisma, viaRawSql, WORKFLOW } from "./application-event-support.ts";
import { openDatabase, publishedEvents, rejection, rowsOf, TENANT } from "./support.ts";

const PAID: NewApplicationEvent = {
  tenantId: TENANT,
  type: "billing.invoice.paid",
  object: "invoice",
  recordId: "in_1",
  data: { cents: 4200 },
  source: "event",
};
const TOLD = ["workflow.trigger.event", "webhook.billing.invoice.paid", "notification.message.create", "notification.message.create"];

describe.each([
  ["Prisma's", viaPrisma],
  ["raw SQL's", viaRawSql],
])("in a transaction of %s", (_name, inTx) => {
  test("an application event of a request is a row, a workflow's event, a call-out, and a notification for each who is to be told", async () => {
    const db = await openDatabase();
    const event = { correlationId: "c-1", causationId: "e-0", depth: 2 };
    const { id, eventId } = await inTx(db, (tx) => publishApplicationEvent(tx, { ...PAID, event }, REQUEST));
    const { tenantId, type, object, recordId, data } = PAID;
    expect(await listApplicationEvents(db.prisma, { tenantId, object, recordId })).toEqual([
      { id, tenantId, type, object, recordId, data, source: "request", actor: "ann", createdAt: expect.any(Date) },
    ]);
    const published = await publishedEvents(db);
    expect(published).toMatchObject([
      { id: eventId, payload: { source: "event", eventType: type, object, recordId, data }, recordKey: "invoice/in_1" },
      { payload: { eventId: id, record: { object, id: recordId }, data } },
      { payload: { recipientId: "bob", title: "Billing invoice paid", body: "invoice/in_1 by ann" } },
      { payload: { recipientId: "cay" } },
    ]);
    expect(published.map((each) => each.type)).toEqual(TOLD);
    for (const each of published) expect(each).toMatchObject({ tenantId, correlationId: "c-1", depth: 2 });
    // A call-out or a notification that is held up holds up nothing of the record.
    expect(published.slice(1).map(({ id: own, recordKey }) => recordKey === own)).toEqual([true, true, true]);
    expect(await rowsOf(db, `SELECT DISTINCT "causationId" FROM "OutboxEvent"`)).toEqual([{ causationId: "e-0" }]);
  });

  test("nothing of it is there before the commit, and all of it then", async () => {
    const db = await openDatabase();
    await inTx(db, async (tx) => {
      await publishApplicationEvent(tx, PAID, REQUEST);
      expect([await typesOf(db), await listApplicationEvents(db.prisma, PAID)]).toEqual([[], []]);
    });
    expect([await typesOf(db), (await listApplicationEvents(db.prisma, PAID)).length]).toEqual([TOLD, 1]);
  });

  test("nothing of it is left of a transaction that is rolled back", async () => {
    const db = await openDatabase();
    const undone = inTx(db, async (tx) => {
      await publishApplicationEvent(tx, PAID, REQUEST);
      throw new Error("the business said no");
    });
    expect((await rejection(undone)).message).toBe("the business said no");
    expect([await typesOf(db), await listApplicationEvents(db.prisma, PAID)]).toEqual([[], []]);
  });

  test("an application event of a workflow calls nobody and tells nobody", async () => {
    const db = await openDatabase();
    await inTx(db, (tx) => publishApplicationEvent(tx, PAID, WORKFLOW));
    expect(await typesOf(db)).toEqual(["workflow.trigger.event"]);
    expect(await listApplicationEvents(db.prisma, PAID)).toMatchObject([{ source: "workflow", actor: RUN_ID }]);
  });

  test("what is refused is refused before any SQL, so the transaction can still commit, and holds nothing of it", async () => {
    const db = await openDatabase();
    const notify = (ids: unknown): EventContext => ({ kind: "request", actor: "ann", notify: ids as string[] });
    const refused: Array<[Partial<NewApplicationEvent>, EventContext, string]> = [
      [{}, { kind: "request", actor: "" }, "context.actor"],
      [{}, { kind: "request", actor: "a\u0000b" }, "context.actor"],
      [{}, notify("bob"), "context.notify"],
      [{}, notify(["bob", 7]), "context.notify.1"],
      [{}, notify(Array.from({ length: 101 }, (_, n) => `p${n}`)), "context.notify"],
      [{}, { kind: "workflow", executionId: "run 7" }, "context.executionId"],
      [{}, { kind: "person" } as unknown as EventContext, "context.kind"],
      [{ type: "Paid" }, REQUEST, "type"],
      [{ object: "" }, REQUEST, "object"],
      [{ data: { when: new Date(0) } as unknown as JsonObject }, REQUEST, "payload.data.when"],
      [{ data: { text: "x".repeat(1024 * 1024) } }, REQUEST, "bytes"],
      [{ tenantId: "" }, REQUEST, "tenantId"],
    ];
    await inTx(db, async (tx) => {
      for (const [change, context, named] of refused) {
        const error = await rejection(publishApplicationEvent(tx, { ...PAID, ...change }, context));
        expect([error.code, error.message]).toEqual([expect.stringMatching(/^PUBLISH\./), expect.stringContaining(named)]);
      }
      await publishApplicationEvent(tx, PAID, WORKFLOW);
    });
    expect([await typesOf(db), (await rowsOf(db, `SELECT 1 FROM "ApplicationEvent"`)).length]).toEqual([["workflow.trigger.event"], 1]);
  });
});

test("through the root client it is refused before it writes", async () => {
  const db = await openDatabase();
  const root = db.prisma as unknown as Prisma.TransactionClient;
  expect(await rejection(publishApplicationEvent(root, PAID, REQUEST))).toMatchObject({ code: "PUBLISH.ROOT_CLIENT" });
  expect([await typesOf(db), await rowsOf(db, `SELECT 1 FROM "ApplicationEvent"`)]).toEqual([[], []]);
});

test("what happened to a record is listed newest first, 200 at a time, of its own tenant and record alone", async () => {
  const db = await openDatabase();
  const publish = async (tx: OutboxTransaction, count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await publishApplicationEvent(tx, { ...PAID, data: { n } }, WORKFLOW);
  };
  await viaRawSql(db, async (tx) => {
    await publish(tx, 205);
    await publishApplicationEvent(tx, { ...PAID, tenantId: "tenant-b" }, WORKFLOW);
    await publishApplicationEvent(tx, { ...PAID, recordId: "in_2" }, WORKFLOW);
  });
  const first = await listApplicationEvents(db.prisma, PAID);
  expect(first.map(({ data }) => data["n"])).toEqual(Array.from({ length: 200 }, (_, n) => 204 - n));
  const rest = await listApplicationEvents(db.prisma, { ...PAID, before: first.at(-1)?.id });
  expect(rest.map(({ data }) => data["n"])).toEqual([4, 3, 2, 1, 0]);
  expect(await listApplicationEvents(db.prisma, { ...PAID, before: rest.at(-1)?.id })).toEqual([]);
  expect(await rejection(listApplicationEvents(db.prisma, { ...PAID, before: "the last one" }))).toMatchObject({
    code: "PUBLISH.ARGUMENT",
  });
});
