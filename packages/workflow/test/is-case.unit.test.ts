import type { JsonValue } from "@toolctrl/foundation/json";
import fc from "fast-check";
import { expect, test } from "vitest";
import { evaluateValue, isCase } from "../src/expressions.ts";

test.each<[value: JsonValue, caseValue: JsonValue, matches: boolean]>([
  [20, 20, true],
  [20, "20", true],
  [20, 20.0, true],
  [20, "20.0", false],
  [20, "020", false],
  [20, " 20", false],
  [20, "20 ", false],
  [20, "+20", false],
  [20, "2e1", false],
  [20, "0x14", false],
  [20, "", false],
  [0, "", false],
  [0, "0", true],
  [0, "-0", false],
  [0, false, false],
  [0, null, false],
  [-1.5, "-1.5", true],
  [0.1, ".1", false],
  [1e21, "1e+21", true],
  [1, true, false],
  ["new", "new", true],
  ["new", "New", false],
  ["new", " new", false],
  ["", "", true],
  ["", null, false],
  ["", false, false],
  [true, true, true],
  [true, "true", true],
  [true, "True", false],
  [true, "1", false],
  [true, 1, false],
  [false, "false", true],
  [false, "", false],
  [false, 0, false],
  [false, null, false],
  [null, null, true],
  [null, "null", false],
  [null, "", false],
  [null, {}, false],
  [{}, {}, false],
  [{ a: 1 }, { a: 1 }, false],
  [{}, "[object Object]", false],
  [[], [], false],
  [[20], 20, false],
  [[20], "20", false],
  [[], "", false],
  [[], null, false],
])("%j against the case %j: %s", (value, caseValue, matches) => {
  expect(isCase(value, caseValue)).toBe(matches);
  expect(isCase(caseValue, value)).toBe(matches);
});

test("an object is no case, not even of itself", () => {
  const value = { a: 1 };
  expect(isCase(value, value)).toBe(false);
});

test("a path that leads nowhere matches null and nothing else", () => {
  const value = evaluateValue("trigger.order.status", { trigger: {} });
  expect(isCase(value, null)).toBe(true);
  for (const caseValue of ["", "null", 0, false, {}, []]) expect(isCase(value, caseValue)).toBe(false);
});

test("a number matches the one text that JSON has for it", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string(), (number, text) => {
      expect(isCase(number, JSON.stringify(number))).toBe(true);
      expect(isCase(number, text)).toBe(text === JSON.stringify(number));
    }),
  );
});
