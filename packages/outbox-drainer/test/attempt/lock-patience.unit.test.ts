import { expect, test } from "vitest";
import { createLockPatience } from "../../src/attempt/lock-patience.ts";

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
