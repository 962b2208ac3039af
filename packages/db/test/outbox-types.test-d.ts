// Checked by the compiler: each line below fails to compile when the guarantee it names is broken.
import type pg from "pg";
import type { Prisma, PrismaClient } from "../src/client.ts";
import {
  publishOutboxEvent,
  publishOutboxEvents,
  type OutboxEventInput,
  type OutboxTransaction,
  type RawTransaction,
} from "../src/outbox.ts";
import type { withOutboxReceipt } from "../src/outbox-receiver.ts";
import type { Queryable } from "../src/sql.ts";

type Fits<Given, Wanted> = [Given] extends [Wanted] ? true : false;
type TransactionArgument<Fn extends (tx: OutboxTransaction, ...rest: never[]) => unknown> = Parameters<Fn>[0];
type Expect<Holds extends true> = Holds;

type InteractiveClient = Parameters<Parameters<PrismaClient["$transaction"]>[0] & ((tx: Prisma.TransactionClient) => unknown)>[0];
type Mail = OutboxEventInput<"mail.message.send">;
type Order = OutboxEventInput<"shop.order.place">;

export type Guarantees = [
  // The client of a transaction fits; the root client does not.
  Expect<Fits<Prisma.TransactionClient, OutboxTransaction>>,
  Expect<Fits<InteractiveClient, OutboxTransaction>>,
  Expect<Fits<Fits<PrismaClient, OutboxTransaction>, false>>,
  Expect<Fits<Fits<PrismaClient, TransactionArgument<typeof publishOutboxEvent>>, false>>,
  Expect<Fits<Fits<PrismaClient, TransactionArgument<typeof publishOutboxEvents>>, false>>,
  Expect<Fits<Fits<PrismaClient, TransactionArgument<typeof withOutboxReceipt>>, false>>,
  // In raw SQL a client fits; a pool, which runs each statement in a transaction of its own, does not.
  Expect<Fits<Queryable, RawTransaction>>,
  Expect<Fits<pg.PoolClient, RawTransaction>>,
  Expect<Fits<Fits<pg.Pool, RawTransaction>, false>>,
  // A type of the catalogue has its payload checked; another takes any JSON object, and only that.
  Expect<Fits<{ tenantId: string; type: "mail.message.send"; payload: { to: string; subject: string; text: string } }, Mail>>,
  Expect<Fits<Fits<{ tenantId: string; type: "mail.message.send"; payload: { to: number } }, Mail>, false>>,
  Expect<Fits<{ tenantId: string; type: "shop.order.place"; payload: { total: number } }, Order>>,
  Expect<Fits<Fits<{ tenantId: string; type: "shop.order.place"; payload: { at: Date } }, Order>, false>>,
];

// Lists check each element by its own type, and plain arrays are taken too.
export async function listsCompile(tx: Prisma.TransactionClient, many: OutboxEventInput[]): Promise<void> {
  await publishOutboxEvent(tx, { tenantId: "t", type: "mail.message.send", payload: { to: "a@b.example", subject: "s", text: "t" } });
  await publishOutboxEvents(tx, [
    { tenantId: "t", type: "mail.message.send", payload: { to: "a@b.example", subject: "s", text: "t" } },
    { tenantId: "t", type: "shop.order.place", payload: { total: 1 } },
  ]);
  await publishOutboxEvents(tx, many);
}
