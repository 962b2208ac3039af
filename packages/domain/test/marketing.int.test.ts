import { describe, expect, test } from "vitest";
import { liftSuppression, suppressContact } from "../src/marketing.ts";
import { openDatabase, publishedEvents, rejection, rowsOf, TENANT } from "./support.ts";

const ROWS = `SELECT "tenantId", "emailKey", "reason" FROM "MarketingSuppression" ORDER BY 1, 2`;
const ANN = { tenantId: TENANT, email: "Ann@x.test", reason: "hard bounce" };

describe("a suppression", () => {
  test("is there, and told of, once; the first reason stays; lifted, it is told of again", async () => {
    const db = await openDatabase();
    const suppress = (reason: string): Promise<boolean> => db.prisma.$transaction((tx) => suppressContact(tx, { ...ANN, reason }));
    const lift = (tenantId: string): Promise<boolean> =>
      db.prisma.$transaction((tx) => liftSuppression(tx, { tenantId, email: "ann@x.test" }));
    expect(await suppress("hard bounce")).toBe(true);
    expect(await suppress("complaint")).toBe(false);
    expect(await rowsOf(db, ROWS)).toEqual([{ tenantId: TENANT, emailKey: "ann@x.test", reason: "hard bounce" }]);
    expect([await lift("rival"), await lift(TENANT), await lift(TENANT)]).toEqual([false, true, false]);
    expect(await rowsOf(db, ROWS)).toEqual([]);
    const events = (await publishedEvents(db)).map(({ type, payload, tenantId }) => ({ type, payload, tenantId }));
    const told = (email: string) => ({ type: "marketing.lead.sync", payload: { email }, tenantId: TENANT });
    expect(events).toEqual([told("Ann@x.test"), told("ann@x.test")]);
  });

  test("is there with its event or not at all", async () => {
    const db = await openDatabase();
    const failed = db.prisma.$transaction(async (tx) => {
      await suppressContact(tx, ANN);
      throw new Error("the product changed its mind");
    });
    expect((await rejection(failed)).message).toContain("changed its mind");
    expect([await rowsOf(db, ROWS), await publishedEvents(db)]).toEqual([[], []]);
  });

  test("of a bad address or without a good reason is refused before any SQL, and the root client is refused", async () => {
    const db = await openDatabase();
    const wrong = [{ reason: " " }, { reason: "x".repeat(201) }, { email: "Ann <ann@x.test>" }];
    const codes = await db.prisma.$transaction(async (tx) => {
      const refused = [];
      for (const fields of wrong) refused.push((await rejection(suppressContact(tx, { ...ANN, ...fields }))).code);
      await tx.$executeRaw`SELECT 1`;
      return refused;
    });
    expect(codes).toEqual(["MARKETING.ARGUMENT", "MARKETING.ARGUMENT", "MAIL.ADDRESS"]);
    // @ts-expect-error the root client is what the type keeps out
    expect((await rejection(suppressContact(db.prisma, ANN))).code).toBe("PUBLISH.ROOT_CLIENT");
    // @ts-expect-error the root client is what the type keeps out
    expect((await rejection(liftSuppression(db.prisma, ANN))).code).toBe("PUBLISH.ROOT_CLIENT");
    expect(await rowsOf(db, ROWS)).toEqual([]);
  });
});
