import { expect, test } from "vitest";
import { remembered } from "../../src/gate/remembered.ts";

test("an answer is given again until its time is over, reckoned from before it was asked; a failure is not", async () => {
  let now = 0;
  let asked = 0;
  const answers: Array<() => Promise<number>> = [];
  const look = remembered(
    async () => {
      asked += 1;
      now += 5;
      return (answers.shift() ?? (() => Promise.resolve(asked)))();
    },
    100,
    () => now,
  );
  expect([await look(), await look()]).toEqual([1, 1]);
  now = 99;
  expect(await look()).toBe(1);
  now = 100;
  answers.push(() => Promise.reject(new Error("away")));
  await expect(look()).rejects.toThrow("away");
  expect(await look()).toBe(3);
});
