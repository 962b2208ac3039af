import type { Prisma } from "@toolctrl/db/client";
import type { OutboxTransaction } from "@toolctrl/db/outbox";
import { MAX_PAYLOAD_DEPTH, type JsonObject } from "@toolctrl/foundation/json";
import { describe, expect, test } from "vitest";
import { listApplicationEvents, type EventContext } from "../src/events-service.ts";
import { MAX_ROW_BYTES, rowCreate, rowDelete, rowUpdate, type Row } from "../src/rows.ts";
import { countsOf, REQUEST, RUN_ID, typesOf, viaPrisma, viaRawSql, WORKFLOW } from "./application-event-support.ts";
import { openDatabase, publishedEvents, rejection, rowsOf, TENANT } from "./support.ts";

/** A row that is made, changed and deleted. */
async function liveOnce(tx: OutboxTransaction, context?: EventContext): Promise<Row> {
  const { row } = await rowCreate(tx, { tenantId: TENANT, table: "deal", data: { name: "A" }, context });
  await rowUpdate(tx, { ...row, data: { name: "B" }, context });
  await rowDelete(tx, { ...row, context });
  return row;
}

const toldOf = (change: string): string[] => [
  `record.deal.${change}`,
  "workflow.trigger.event",
  `webhook.row.${change}`,
  "notification.message.create",
  "notification.message.create",
];

describe.each([
  ["Prisma's", viaPrisma],
  ["raw SQL's", viaRawSql],
])("in a transaction of %s", (_name, inTx) => {
  test("each change of a row that a request asks for is an application event, with the row before and after", async () => {
    const db = await openDatabase();
    const { id } = await inTx(db, (tx) => liveOnce(tx, REQUEST));
    const first = { id, parentId: null, revision: 1, data: { name: "A" } };
    const second = { id, parentId: null, revision: 2, data: { name: "B" } };
    const happened = [
      { type: "row.deleted", data: { before: second } },
      { type: "row.updated", data: { before: first, after: second } },
      { type: "row.created", data: { after: first } },
    ];
    const listed = await listApplicationEvents(db.prisma, { tenantId: TENANT, object: "deal", recordId: id });
    expect(listed.map(({ type, data }) => ({ type, data }))).toEqual(happened);
    for (const each of listed) expect(each).toMatchObject({ tenantId: TENANT, source: "request", actor: "ann" });
    const triggers = (await publishedEvents(db)).filter(({ type }) => type === "workflow.trigger.event");
    expect(triggers.map(({ payload }) => payload)).toEqual(
      happened.toReversed().map(({ type, data }) => ({ source: "row", eventType: type, object: "deal", recordId: id, data })),
    );
    expect(await typesOf(db)).toEqual(["created", "updated", "deleted"].flatMap(toldOf));
  });

  test("a row, its application event and all that tells of it are there together, none of it before the commit", async () => {
    const db = await openDatabase();
    await inTx(db, async (tx) => {
      await rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, context: REQUEST });
      expect(await countsOf(db)).toEqual({ rows: 0, happened: 0 });
    });
    expect([await countsOf(db), await typesOf(db)]).toMatchObject([{ rows: 1, happened: 1 }, toldOf("created")]);
  });

  test("a row, its application event and all that tells of it are undone together", async () => {
    const db = await openDatabase();
    const undone = inTx(db, async (tx) => {
      await rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, context: REQUEST });
      await liveOnce(tx, REQUEST);
      throw new Error("the business said no");
    });
    expect((await rejection(undone)).message).toBe("the business said no");
    expect(await countsOf(db)).toEqual({ rows: 0, happened: 0 });
  });

  test("without a context a change is its record's event and no application event", async () => {
    const db = await openDatabase();
    await inTx(db, (tx) => liveOnce(tx));
    expect(await typesOf(db)).toEqual(["record.deal.created", "record.deal.updated", "record.deal.deleted"]);
    expect(await countsOf(db)).toMatchObject({ happened: 0 });
  });

  test("a change that a workflow makes calls nobody and tells nobody, and may start the next workflow one event deeper", async () => {
    const db = await openDatabase();
    const { row } = await inTx(db, (tx) =>
      rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, context: WORKFLOW, event: { depth: 4, causationId: "e-3" } }),
    );
    expect(await publishedEvents(db)).toMatchObject([
      { type: "record.deal.created", depth: 4 },
      { type: "workflow.trigger.event", depth: 4, recordKey: `deal/${row.id}` },
    ]);
    const [happened] = await listApplicationEvents(db.prisma, { tenantId: TENANT, object: "deal", recordId: row.id });
    expect(happened).toMatchObject({ source: "workflow", actor: RUN_ID });
  });

  test("a cascade of 300 rows is 300 application events in a few statements, and people are told of the one row they know of", async () => {
    const db = await openDatabase();
    const root = await inTx(db, async (tx) => (await rowCreate(tx, { tenantId: TENANT, table: "account", data: { name: "root" } })).row);
    await db.pool.query(
      `INSERT INTO "Row" ("id", "tenantId", "table", "parentId", "level", "data")
       SELECT gen_random_uuid(), $1, 'deal', $2, 1, jsonb_build_object('n', n) FROM generate_series(1, 299) n`,
      [TENANT, root.id],
    );
    let statements = 0;
    const deleted = await inTx(db, (tx) => {
      const counting: OutboxTransaction = {
        $executeRawUnsafe: (query, ...values) => ((statements += 1), tx.$executeRawUnsafe(query, ...values)),
        $queryRawUnsafe: <T>(query: string, ...values: unknown[]) => ((statements += 1), tx.$queryRawUnsafe<T>(query, ...values)),
      };
      return rowDelete(counting, { ...root, id: root.id.toUpperCase(), context: REQUEST });
    });
    expect(deleted).toHaveLength(300);
    expect(await countsOf(db)).toEqual({
      rows: 0,
      happened: 300,
      "record.account.created": 1,
      "record.account.deleted": 1,
      "record.deal.deleted": 299,
      "workflow.trigger.event": 300,
      "webhook.row.deleted": 300,
      "notification.message.create": 2,
    });
    expect(statements).toBeLessThan(30);
    const told = await rowsOf(db, `SELECT "payload" FROM "OutboxEvent" WHERE "eventType" = 'notification.message.create'`);
    expect(told).toMatchObject([{ payload: { body: `account/${root.id} by ann` } }, { payload: { body: `account/${root.id} by ann` } }]);
    const snapshots = `SELECT DISTINCT a."object", r."recordId" IS NOT NULL AS "same" FROM "ApplicationEvent" a
      LEFT JOIN (SELECT "payload" ->> 'recordId' AS "recordId", "payload" -> 'before' AS "before" FROM "OutboxEvent"
        WHERE "eventType" LIKE 'record.%.deleted') r ON r."recordId" = a."recordId" AND a."data" = jsonb_build_object('before', r."before")`;
    expect(await rowsOf(db, `${snapshots} ORDER BY 1`)).toEqual([
      { object: "account", same: true },
      { object: "deal", same: true },
    ]);
  });

  test("rows of the greatest size and depth are told of whole: made, changed and deleted", async () => {
    const db = await openDatabase();
    const filled = (letter: string): JsonObject => ({ text: letter.repeat(MAX_ROW_BYTES - `{"text":""}`.length) });
    await inTx(db, async (tx) => {
      const { row } = await rowCreate(tx, { tenantId: TENANT, table: "deal", data: filled("a"), context: REQUEST });
      await rowUpdate(tx, { ...row, data: filled("b"), context: REQUEST });
      await rowDelete(tx, { ...row, context: REQUEST });
      expect(await rejection(rowCreate(tx, { tenantId: TENANT, table: "deal", data: { ...filled("a"), n: 1 } }))).toMatchObject({
        code: "ROW.ARGUMENT",
      });
      const deepest = nested(MAX_PAYLOAD_DEPTH - 3);
      await rowCreate(tx, { tenantId: TENANT, table: "deal", data: deepest, context: REQUEST });
      expect(await rejection(rowCreate(tx, { tenantId: TENANT, table: "deal", data: nested(MAX_PAYLOAD_DEPTH - 2) }))).toMatchObject({
        code: "ROW.ARGUMENT",
        message: expect.stringContaining("expected data."),
      });
    });
    const sizes = `SELECT octet_length("payload" ->> 'data') > 2 * $1::int AS "both" FROM "OutboxEvent" e
      WHERE "eventType" = 'workflow.trigger.event' ORDER BY e."position"`;
    expect(await rowsOf(db, sizes, [MAX_ROW_BYTES])).toEqual([{ both: false }, { both: true }, { both: false }, { both: false }]);
  });

  test("a context that is none is refused before any SQL, so the transaction can still commit", async () => {
    const db = await openDatabase();
    const context = { kind: "request", actor: "" } as const;
    await inTx(db, async (tx) => {
      const { row } = await rowCreate(tx, { tenantId: TENANT, table: "deal", data: {} });
      const attempts = [
        () => rowCreate(tx, { tenantId: TENANT, table: "deal", data: {}, context }),
        () => rowUpdate(tx, { ...row, data: { n: 1 }, context }),
        () => rowDelete(tx, { ...row, context }),
      ];
      for (const attempt of attempts) expect(await rejection(attempt())).toMatchObject({ code: "PUBLISH.ARGUMENT" });
    });
    expect(await rowsOf(db, `SELECT "revision", "data" FROM "Row"`)).toEqual([{ revision: 1, data: {} }]);
    expect(await typesOf(db)).toEqual(["record.deal.created"]);
  });
});

function nested(levels: number): JsonObject {
  return Array.from({ length: levels - 1 }).reduce<JsonObject>((inner) => ({ inner }), {});
}

// More than what one statement can publish: some seconds of work for the database.
test("a cascade of rows of the greatest size publishes them all", { timeout: 240_000 }, async () => {
  const db = await openDatabase();
  const { row } = await viaPrisma(db, (tx) => rowCreate(tx, { tenantId: TENANT, table: "account", data: {} }));
  await db.pool.query(
    `INSERT INTO "Row" ("id", "tenantId", "table", "parentId", "level", "data")
     SELECT gen_random_uuid(), $1, 'deal', $2, 1, jsonb_build_object('text', repeat('a', $3::int)) FROM generate_series(1, 70)`,
    [TENANT, row.id, MAX_ROW_BYTES - `{"text":""}`.length],
  );
  await viaRawSql(db, (tx) => rowDelete(tx, { ...row, context: REQUEST }));
  expect(await countsOf(db)).toMatchObject({ rows: 0, happened: 71, "webhook.row.deleted": 71 });
});

test("through the root client a change with a context is refused before it writes", async () => {
  const db = await openDatabase();
  const root = db.prisma as unknown as Prisma.TransactionClient;
  expect(await rejection(rowCreate(root, { tenantId: TENANT, table: "deal", data: {}, context: REQUEST }))).toMatchObject({
    code: "PUBLISH.ROOT_CLIENT",
  });
  expect(await countsOf(db)).toEqual({ rows: 0, happened: 0 });
});
