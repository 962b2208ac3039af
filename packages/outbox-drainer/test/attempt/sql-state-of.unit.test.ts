import { expect, test } from "vitest";
import { createLockPatience } from "../../src/attempt/lock-patience.ts";
import { sqlStateOf } from "../../src/attempt/sql-state-of.ts";

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

test("half of the attempts may wait long for a lock, the others shortly, and the more shortly the more time out", () => {
  const take = createLockPatience({ lockTimeoutMs: 2_000, parallelism: 4 });
  const [first, second, third] = [take(), take(), take()];
  expect([first, second, third].map(({ lockTimeoutMs }) => lockTimeoutMs)).toEqual([2_000, 2_000, 200]);
  for (let n = 0; n < 8; n += 1) take().end(true);
  expect(take().lockTimeoutMs).toBeLessThan(100);
  first?.end(false);
  expect(take().lockTimeoutMs).toBe(2_000);
  expect(createLockPatience({ lockTimeoutMs: 50, parallelism: 1 })().lockTimeoutMs).toBe(50);
});
