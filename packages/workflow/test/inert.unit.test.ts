import type { JsonValue } from "@toolctrl/foundation/json";
import { expect, test } from "vitest";
import { inert, type InertObject } from "../src/inert.ts";
import { createTextBudget, MAX_TEXT } from "../src/text-budget.ts";
import { thrownBy } from "./thrown-by.ts";

const budget = () => createTextBudget("WORKFLOW.EXPRESSION", "the data");
const copy = (value: JsonValue): InertObject => inert(value, budget()) as InertObject;

function listOfDepth(depth: number): JsonValue {
  let value: JsonValue = [];
  for (let level = 1; level < depth; level += 1) value = [value];
  return value;
}

test("a copy says what JSON says", () => {
  const value = { trigger: { text: "a", number: 1.5, yes: true, none: null, list: [{ deep: [1] }] } };
  expect(JSON.stringify(copy(value))).toBe(JSON.stringify(value));
});

test("no object of a copy has a prototype, at any depth", () => {
  const { trigger } = copy({ trigger: { a: { b: [{ c: {} }] } } }) as { trigger: { a: { b: [{ c: object }] } } };
  for (const object of [trigger, trigger.a, trigger.a.b[0], trigger.a.b[0].c]) expect(Object.getPrototypeOf(object)).toBeNull();
});

test.each(["__proto__", "constructor", "prototype"])("an own key %s reads as absent, at any depth", (key) => {
  const hostile = JSON.parse(`{"${key}": {"polluted": 1}, "list": [{"${key}": 1, "deep": {"deeper": {"${key}": 1}}}]}`) as JsonValue;
  const value = copy({ [key]: hostile, trigger: hostile });
  expect(Object.keys(value)).toEqual(["trigger"]);
  expect(JSON.stringify(value)).toBe('{"trigger":{"list":[{"deep":{"deeper":{}}}]}}');
  expect(Object.hasOwn(value["trigger"] as object, key)).toBe(false);
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
});

test("what JSON does not know reads as null", () => {
  const value = { trigger: { run: () => 1, big: 1n, none: undefined, sign: Symbol("s") } } as unknown as JsonValue;
  expect(JSON.stringify(copy(value))).toBe('{"trigger":{"run":null,"big":null,"none":null,"sign":null}}');
});

test("as deep as a payload may be is read, deeper is refused", () => {
  expect(copy({ trigger: listOfDepth(64) })["trigger"]).toEqual(listOfDepth(64));
  const error = thrownBy(() => copy({ trigger: listOfDepth(65) })["trigger"]);
  expect(error.code).toBe("WORKFLOW.EXPRESSION");
  expect(error.message).toBe("expected the data to be nested at most 64 levels deep, got more");
});

test("a megabyte is read, more is refused", () => {
  const text = "x".repeat(MAX_TEXT - 100);
  expect(copy({ trigger: { text } })["trigger"]).toEqual({ text });
  const trigger = copy({ trigger: { text, more: "y".repeat(200) } })["trigger"] as InertObject;
  expect(trigger["text"]).toBe(text);
  expect(thrownBy(() => trigger["more"]).message).toBe(`expected the data to be at most ${MAX_TEXT} characters, got more`);
});

test("a list of millions of members is refused before it is copied to its end", () => {
  const list = Array.from({ length: 3_000_000 }, () => 0);
  expect(thrownBy(() => copy({ trigger: list })["trigger"]).code).toBe("WORKFLOW.EXPRESSION");
});

test("what nobody reads costs nothing", () => {
  const value = copy({ steps: { large: "x".repeat(5 * MAX_TEXT), small: { answer: 42 } } });
  expect((value["steps"] as InertObject)["small"]).toEqual({ answer: 42 });
});
