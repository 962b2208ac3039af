import { expect, test } from "vitest";
import { exampleOf, runExample } from "../src/examples.ts";
import { give, openDatabase } from "./given.ts";

test("the example on order has totals rise with the positions of their events, however many run at once", async () => {
  const { database } = await openDatabase();
  give({ database, tenantId: "acme" });
  await database.pool.query(`CREATE TABLE "ShopOrder" ("id" text PRIMARY KEY, "total" int NOT NULL)`);
  await database.pool.query(`INSERT INTO "ShopOrder" VALUES ('o1', 0)`);
  const { addToOrder } = (await runExample(exampleOf("docs/guides/order.md", "addToOrder"))) as {
    addToOrder(orderId: string, cents: number): Promise<void>;
  };
  await Promise.all(Array.from({ length: 8 }, () => addToOrder("o1", 5)));
  const { rows } = await database.pool.query<{ recordKey: string; total: number }>(
    `SELECT "recordKey", ("payload" #>> '{after,data,total}')::int AS "total" FROM "OutboxEvent" ORDER BY "position"`,
  );
  expect(rows).toEqual([5, 10, 15, 20, 25, 30, 35, 40].map((total) => ({ recordKey: "order/o1", total })));
});

test("the consumer of the guide to upgrading reads both versions of an event as one, and refuses a mixture", async () => {
  const { readInvoice } = (await runExample(exampleOf("docs/guides/upgrade.md", "readInvoice"))) as {
    readInvoice(delivery: { envelope: { version: number }; payload: unknown }): unknown;
  };
  const first = { envelope: { version: 1 }, payload: { invoiceId: "in_1", cents: 4200 } };
  const second = { envelope: { version: 2 }, payload: { invoiceId: "in_1", amount: { cents: 4200, currency: "EUR" } } };
  expect(readInvoice(first)).toEqual(readInvoice(second));
  expect(() => readInvoice({ ...first, envelope: second.envelope })).toThrow("amount");
});
