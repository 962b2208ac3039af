import { randomUUID } from "node:crypto";
import { createDatabase, type Prisma } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import type { BenchCase, Side } from "../measure.ts";
import type { BenchServers } from "../servers.ts";

const CONNECTIONS = 10;

/** One business row in a Prisma transaction, with and without an event beside it. */
export async function publishCase(servers: BenchServers, operations: number): Promise<BenchCase> {
  const { databaseUrl: url, admin } = servers;
  const database = await createDatabase({ url, poolMax: CONNECTIONS, app: "bench" });
  const transact = async (work: (tx: Prisma.TransactionClient) => Promise<void>): Promise<void> => {
    let left = operations;
    const runner = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        await database.prisma.$transaction(work);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, runner));
  };
  const side = (label: string, events: number, work: (tx: Prisma.TransactionClient) => Promise<void>): Side => ({
    label,
    prepare: () => servers.emptyTables("Notification", "OutboxEvent"),
    run: () => transact(work),
    async verify() {
      const { rows } = await admin.query(
        `SELECT (SELECT count(*)::int FROM "Notification") AS rows, (SELECT count(*)::int FROM "OutboxEvent") AS events`,
      );
      expectCounts(rows[0], { rows: operations, events });
    },
  });
  return {
    name: "publish",
    title: "Prisma transaction: business row + event ÷ business row",
    unit: "transactions",
    operations,
    target: 0.7,
    settings: { connections: CONNECTIONS, wakeup: true },
    baseline: side("business row alone", 0, async (tx) => void (await tx.notification.create({ data: businessRow() }))),
    product: side("business row + publishOutboxEvent", operations, async (tx) => {
      const row = await tx.notification.create({ data: businessRow() });
      await publishOutboxEvent(tx, {
        tenantId: row.tenantId,
        type: "notification.message.create",
        payload: { recipientId: row.recipientId, title: row.title, body: row.body },
      });
    }),
    close: () => database.close(),
  };
}

function businessRow(): Prisma.NotificationCreateInput {
  return {
    tenantId: "acme",
    eventId: randomUUID(),
    eventType: "billing.invoice.paid",
    recipientId: "user-42",
    title: "Invoice 2041 was paid",
    body: "EUR 1,250.00 came in today.",
  };
}

function expectCounts(got: unknown, expected: Record<string, number>): void {
  if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(got)}`);
}
