import { expect, test } from "vitest";
import { sqlStateOf } from "../src/sql-state-of.ts";

test("the SQLSTATE is found in errors of the driver, of Prisma over it, and behind a cause", () => {
  const driver = Object.assign(new Error("lock"), { code: "55P03" });
  const prisma = Object.assign(new Error("raw query failed"), {
    code: "P2010",
    meta: { driverAdapterError: Object.assign(new Error("x"), { cause: { kind: "postgres", originalCode: "55P03", code: "55P03" } }) },
  });
  for (const error of [driver, prisma, new Error("effect", { cause: prisma })]) expect(sqlStateOf(error)).toBe("55P03");
  expect(sqlStateOf(Object.assign(new Error("raise"), { code: "P0001" }))).toBe("P0001");
  for (const other of [new Error("x"), Object.assign(new Error("x"), { code: "P2028" }), { code: "ECONNRESET" }, "55P03", null]) {
    expect(sqlStateOf(other)).toBeNull();
  }
});
