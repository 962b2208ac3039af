import fc from "fast-check";
import { expect, test } from "vitest";
import { storableText } from "../src/text.ts";

test.each([
  ["a\u0000b", 10, "a\uFFFDb"],
  ["\ud83d", 10, "\uFFFD"],
  ["\ude00x", 10, "\uFFFDx"],
  ["ab😀", 4, "ab😀"],
  ["ab😀", 3, "ab"],
  ["ab😀c", 4, "ab😀"],
])("of %j at most %i characters are stored as %j", (text, max, stored) => {
  expect(storableText(text, max)).toBe(stored);
});

test("what is stored is well-formed, without U+0000, within its length, and else as it was", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "\u0000", "\ud83d", "\ude00", "é"), maxLength: 8 }), fc.nat(10), (text, max) => {
      const stored = storableText(text, max);
      expect(stored.isWellFormed() && !stored.includes("\u0000")).toBe(true);
      expect(stored.length).toBeLessThanOrEqual(max);
      expect(stored.length).toBeGreaterThanOrEqual(Math.min(text.length, max) - 1);
      const storable = text.isWellFormed() && !text.includes("\u0000");
      expect(!storable || text.startsWith(stored)).toBe(true);
    }),
  );
});
