import { expect, test } from "vitest";
import { crashCleanup } from "./crash-cleanup.ts";

test("cleanup.run ended after any call: what had to go is gone, and nothing else", { timeout: 300_000 }, async ({ annotate }) => {
  const points = await crashCleanup();
  await annotate(`${points.length} crash points`);
  expect(points.length, `${points.length} crash points`).toBeGreaterThanOrEqual(15);
});
