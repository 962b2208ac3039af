import { expect, test } from "vitest";
import { waitFor } from "../src/wait.ts";

test("the first truthy value is returned", async () => {
  const values = [undefined, null, 0, "", false, "there", "later"];
  expect(await waitFor(() => values.shift())).toBe("there");
});

test("a check that throws is tried again", async () => {
  let calls = 0;
  const value = await waitFor(() => {
    calls += 1;
    if (calls < 3) throw new Error("not yet");
    return calls;
  });
  expect(value).toBe(3);
});

test("when the time is over the error names what was awaited and what came last", async () => {
  await expect(waitFor(() => 0, { timeoutMs: 1, what: "a job" })).rejects.toThrow("expected a job within 1 ms, got 0");
  const broken = new Error("broken check");
  const failing = waitFor(() => Promise.reject(broken), { timeoutMs: 1 });
  await expect(failing).rejects.toMatchObject({ message: expect.stringContaining("broken check"), cause: broken });
});
