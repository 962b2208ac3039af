import fc from "fast-check";
import { expect, test } from "vitest";
import { recordKeyOf } from "../src/record-key.ts";

test.each([
  [{ object: "Lead", recordId: "7" }, "Lead/7"],
  [{ object: "Lead", recordId: "a/b", more: 1 }, "Lead/a/b"],
  [{ object: "order-line_2", recordId: "é😀" }, "order-line_2/é😀"],
  [{ object: "L".repeat(64), recordId: "😀".repeat(190) }, `${"L".repeat(64)}/${"😀".repeat(190)}`],
])("the record key of %j is %s", (payload, key) => {
  expect(recordKeyOf(payload)).toBe(key);
});

test.each([
  null,
  undefined,
  "Lead/7",
  7,
  [{ object: "Lead", recordId: "7" }],
  {},
  { object: "Lead" },
  { recordId: "7" },
  { object: "Lead", recordId: 7 },
  { object: null, recordId: "7" },
  { object: "Lead", recordId: "" },
  { object: "", recordId: "7" },
  { object: "Lead/x", recordId: "7" },
  { object: "Lead\n", recordId: "7" },
  { object: "7Lead", recordId: "7" },
  { object: "Läd", recordId: "7" },
  { object: "L".repeat(65), recordId: "7" },
  { object: "Lead", recordId: "x".repeat(191) },
  { record: { object: "Lead", recordId: "7" } },
])("a payload that names no record in the known form has no key: %j", (payload) => {
  expect(recordKeyOf(payload)).toBeNull();
});

test("two records never share a key", () => {
  const object = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,8}$/);
  const recordId = fc.string({ unit: fc.constantFrom("a", "b", "/", "-"), minLength: 1, maxLength: 6 });
  const record = fc.record({ object, recordId });
  fc.assert(
    fc.property(record, record, (a, b) => {
      expect(recordKeyOf(a) === recordKeyOf(b)).toBe(a.object === b.object && a.recordId === b.recordId);
    }),
  );
});
