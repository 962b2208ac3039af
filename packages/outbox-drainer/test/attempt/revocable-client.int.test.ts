import { describe, expect, test } from "vitest";
import { readEvents, statuses } from "../support.ts";
import { effectOf, gate, insertRecordEvents, mark, marks, openPull, type Tx, workersOf } from "../pull/support.ts";

describe("the transaction client is taken away", () => {
  test("of a Promise.all with one failing branch, the sibling's later write does not survive", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const [failed, siblingEnded] = [gate(), gate()];
    let refusal: unknown;
    const sibling = async (tx: Tx, id: string): Promise<void> => {
      await failed.opened;
      await mark(tx, id, "late").catch((error: unknown) => (refusal = error));
      siblingEnded.open();
    };
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await mark(tx, event.id, "early");
        try {
          await Promise.all([Promise.reject(new Error("one branch")), sibling(tx, event.id)]);
        } finally {
          setImmediate(() => setImmediate(failed.open));
        }
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "retry", error: "one branch" } });
    await siblingEnded.opened;
    expect(refusal).toMatchObject({ code: "EFFECT.REVOKED" });
    expect(await marks(database)).toEqual([]);
    expect(await statuses(database)).toEqual({ PENDING: 1 });
  });

  test("a write that is in flight when its sibling fails is awaited and rolled back", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await Promise.all([
          tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId", "text") SELECT $1::uuid, pg_sleep(0.2)::text`, event.id),
          Promise.reject(new Error("one branch")),
        ]);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "retry", error: "one branch" } });
    expect(await marks(database)).toEqual([]);
  });

  test("a write of several statements that is in flight when its sibling fails leaves none of them behind", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        const deliveries = { create: ["a", "b", "c"].map((recipient) => ({ recipient })) };
        const mail = { tenantId: event.tenantId, eventId: event.id, messageId: "m", fromAddress: "f", subject: "s", deliveries };
        await Promise.all([tx.emailMessage.create({ data: mail }), Promise.reject(new Error("one branch"))]);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry", error: "one branch" } });
    expect(await database.prisma.emailMessage.count()).toBe(0);
    expect(await database.prisma.emailDelivery.count()).toBe(0);
  });

  test("a call that was not awaited and began before the effect ended is part of it", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf((tx, event) => {
        void tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId", "text") SELECT $1::uuid, 'x' || pg_sleep(0.1)`, event.id).then(String);
        return Promise.resolve();
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
  });

  test("a write of several statements that was not awaited is whole when the event is DONE", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf((tx, event) => {
        const deliveries = { create: ["a", "b", "c"].map((recipient) => ({ recipient })) };
        const mail = { tenantId: event.tenantId, eventId: event.id, messageId: "m", fromAddress: "f", subject: "s", deliveries };
        void tx.emailMessage.create({ data: mail }).then(String);
        return Promise.resolve();
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "done" } });
    expect(await database.prisma.emailMessage.count()).toBe(1);
    expect(await database.prisma.emailDelivery.count()).toBe(3);
  });

  test("a nested transaction that was not awaited is rolled back before the event is settled", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const [begun, ended] = [gate(), gate()];
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        const nested = tx.$transaction(async (inner) => {
          await mark(inner, event.id);
          begun.open();
          await inner.$executeRawUnsafe(`SELECT pg_sleep(0.1)`);
          await mark(inner, event.id);
        });
        nested.then(ended.open, ended.open);
        await begun.opened;
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "done" } });
    await ended.opened;
    expect(await marks(database)).toEqual([]);
  });

  test("a client kept beyond the effect is refused, models and nested transactions included", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    let kept: Tx | undefined;
    let nested: Tx | undefined;
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        kept = tx;
        await tx.$transaction(async (inner) => {
          nested = inner;
          await mark(inner, event.id);
        });
        await tx.notification.count();
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
    for (const client of [kept, nested]) {
      expect(() => client?.notification.count()).toThrow(expect.objectContaining({ code: "EFFECT.REVOKED" }));
      expect(() => client?.$queryRawUnsafe("SELECT 1")).toThrow(expect.objectContaining({ code: "EFFECT.REVOKED" }));
    }
  });

  test("a swallowed SQL error is never DONE, and the swallowed error is what the event tells", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await mark(tx, event.id);
        await tx.$executeRawUnsafe("SELECT 1 / 0").catch(() => undefined);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ fate: "kept", settlement: { outcome: "retry", errorCode: "22012" } });
    expect(await marks(database)).toEqual([]);
    expect(await readEvents(database)).toMatchObject([{ status: "PENDING", retries: 1, lastErrorCode: "22012" }]);
  });

  test("an error caught behind a savepoint of the effect's own spoils nothing", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1);
    const workers = workersOf(database, [
      effectOf(async (tx, event) => {
        await tx.$transaction((inner) => inner.$executeRawUnsafe("SELECT 1 / 0")).catch(() => undefined);
        await mark(tx, event.id);
      }),
    ]);
    expect(await workers.runOnce()).toMatchObject({ settlement: { outcome: "done" } });
    expect(await marks(database)).toHaveLength(1);
  });
});
