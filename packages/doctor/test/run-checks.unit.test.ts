import { expect, test } from "vitest";
import { ok, type Check } from "../src/check.ts";
import { runChecks } from "../src/run-checks.ts";

test("a check that throws, and one that never answers, are unknown with why, and stop no other", async () => {
  const checks: Check[] = [
    { name: "good", look: () => Promise.resolve(ok("fine")) },
    {
      name: "broken",
      look() {
        throw new Error("broken at once");
      },
    },
    { name: "refused", look: () => Promise.reject(new Error("not allowed")) },
    { name: "silent", look: () => new Promise(() => undefined) },
    { name: "last", look: () => Promise.resolve(ok("fine too")) },
  ];
  expect(await runChecks(checks, 20)).toMatchObject([
    { name: "good", state: "ok", said: "fine", fix: null },
    { name: "broken", state: "unknown", said: "could not be asked: broken at once", fix: expect.any(String) },
    { name: "refused", state: "unknown", said: "could not be asked: not allowed" },
    { name: "silent", state: "unknown", said: expect.stringContaining("expected an answer within 20 ms") },
    { name: "last", state: "ok" },
  ]);
});
