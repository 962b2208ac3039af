// The shop. An order is a row and an event, in one commit: neither is there without the other.
import { createServer } from "node:http";
import { createDatabase, transaction } from "@toolctrl/db/client";
import { outboxTransactionOf, publishOutboxEvent } from "@toolctrl/db/outbox";

const { DATABASE_URL: url, PORT: port = "3000" } = process.env;
if (url === undefined) throw new Error("expected DATABASE_URL to be set, got nothing");
const { pool } = await createDatabase({ url, poolMax: 5, app: "shop" });

function placeOrder(item: string): Promise<object> {
  return transaction(pool, async (tx) => {
    const { rows } = await tx.query<{ id: number }>(`INSERT INTO "ShopOrder" ("item") VALUES ($1) RETURNING "id"`, [item]);
    const order = rows[0]?.id;
    const { id: event } = await publishOutboxEvent(outboxTransactionOf(tx), {
      tenantId: "shop",
      type: "shop.order.placed",
      payload: { object: "Order", recordId: String(order), item },
    });
    return { order, event };
  });
}

async function listOrders(): Promise<object[]> {
  const { rows } = await pool.query<{ order: number; item: string; messages: string[] }>(`
    SELECT "id" AS "order", "item", ARRAY(SELECT "text" FROM "ShopMessage" WHERE "orderId" = o."id") AS "messages"
    FROM "ShopOrder" o ORDER BY "id"`);
  return rows;
}

const server = createServer((request, response) => {
  const item = new URL(request.url ?? "/", "http://shop").searchParams.get("item");
  const answer = request.method === "POST" && item !== null ? placeOrder(item) : listOrders();
  answer.then(
    (body) => response.end(`${JSON.stringify(body)}\n`),
    (error: unknown) => {
      console.error(error);
      response.writeHead(500).end();
    },
  );
});
server.listen(Number(port), "127.0.0.1");
