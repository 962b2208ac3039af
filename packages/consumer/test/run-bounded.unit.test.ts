import { expect, test } from "vitest";
import { runBounded } from "../src/external-call/run-bounded.ts";

test("every item is run, no more than the limit at a time, and the first error comes out after all of them", async () => {
  const items = Array.from({ length: 20 }, (_, index) => index);
  const ran: number[] = [];
  let running = 0;
  let most = 0;
  const work = async (item: number): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    ran.push(item);
    if (item % 3 === 0) throw new Error(`item ${item}`);
  };
  await expect(runBounded(items, 4, work)).rejects.toThrow("item 0");
  expect(ran.toSorted((a, b) => a - b)).toEqual(items);
  expect(most).toBe(4);
});

test("nothing to run is no error", async () => {
  await expect(runBounded([], 4, () => Promise.reject(new Error("never")))).resolves.toBeUndefined();
});
