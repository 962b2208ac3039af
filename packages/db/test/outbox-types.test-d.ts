// Checked by the compiler: each line below fails to compile when the guarantee it names is broken.
import type { Prisma, PrismaClient } from "../src/client.ts";
import { publishOutboxEvent, publishOutboxEvents, type OutboxEventInput, type OutboxTransaction } from "../src/outbox.ts";
import type { withOutboxReceipt } from "../src/outbox-receiver.ts";

type Fits<Given, Wanted> = [Given] extends [Wanted] ? true : false;
type TransactionArgument<Fn extends (tx: OutboxTransaction, ...rest: never[]) => unknown> = Parameters<Fn>[0];
function assertType<_T extends true>(): void {}

// The client of a transaction fits, also that of an extended client; the root client does not.
type InteractiveClient = Parameters<Parameters<PrismaClient["$transaction"]>[0] & ((tx: Prisma.TransactionClient) => unknown)>[0];
assertType<Fits<Prisma.TransactionClient, OutboxTransaction>>();
assertType<Fits<InteractiveClient, OutboxTransaction>>();
assertType<Fits<Fits<PrismaClient, OutboxTransaction>, false>>();
assertType<Fits<Fits<PrismaClient, TransactionArgument<typeof publishOutboxEvent>>, false>>();
assertType<Fits<Fits<PrismaClient, TransactionArgument<typeof publishOutboxEvents>>, false>>();
assertType<Fits<Fits<PrismaClient, TransactionArgument<typeof withOutboxReceipt>>, false>>();

// A type of the catalogue has its payload checked; another takes any JSON object, and only that.
type Mail = OutboxEventInput<"mail.message.send">;
assertType<Fits<{ tenantId: string; type: "mail.message.send"; payload: { to: string; subject: string; text: string } }, Mail>>();
assertType<Fits<Fits<{ tenantId: string; type: "mail.message.send"; payload: { to: number } }, Mail>, false>>();
assertType<Fits<{ tenantId: string; type: "shop.order.place"; payload: { total: number } }, OutboxEventInput<"shop.order.place">>>();
assertType<Fits<Fits<{ tenantId: string; type: "shop.order.place"; payload: { at: Date } }, OutboxEventInput<"shop.order.place">>, false>>();

// Lists check each element by its own type, and plain arrays are taken too.
export async function listsCompile(tx: Prisma.TransactionClient, many: OutboxEventInput[]): Promise<void> {
  await publishOutboxEvent(tx, { tenantId: "t", type: "mail.message.send", payload: { to: "a@b.example", subject: "s", text: "t" } });
  await publishOutboxEvents(tx, [
    { tenantId: "t", type: "mail.message.send", payload: { to: "a@b.example", subject: "s", text: "t" } },
    { tenantId: "t", type: "shop.order.place", payload: { total: 1 } },
  ]);
  await publishOutboxEvents(tx, many);
}
