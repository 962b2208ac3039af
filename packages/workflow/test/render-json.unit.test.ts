import type { JsonValue } from "@toolctrl/foundation/json";
import { describe, expect, test } from "vitest";
import { renderJson } from "../src/templates.ts";
import { thrownBy } from "./thrown-by.ts";

const VARIABLES = {
  trigger: {
    total: 120,
    name: 'O"Br\\ien\nLtd',
    paid: true,
    note: null,
    tags: ["new", "vip"],
    address: { city: "Bern", lines: [{ a: null }] },
    hostile: JSON.parse('{"__proto__": {"polluted": "yes"}, "fine": 1}') as JsonValue,
  },
};

const render = (value: JsonValue): JsonValue => renderJson(value, VARIABLES);

describe("a text that is one placeholder", () => {
  test.each<[template: string, value: JsonValue]>([
    ["{{ trigger.total }}", 120],
    ["{{trigger.total}}", 120],
    ["{{- trigger.total -}}", 120],
    ["{{ trigger.paid }}", true],
    ["{{ trigger.note }}", null],
    ["{{ trigger.nope.deeper }}", null],
    ["{{ nope }}", null],
    ["{{ trigger.tags }}", ["new", "vip"]],
    ["{{ trigger.address }}", { city: "Bern", lines: [{ a: null }] }],
    ["{{ trigger.name }}", 'O"Br\\ien\nLtd'],
    ["{{ trigger.total | plus: 1 }}", 121],
    ["{{ trigger.nope | default: 5 }}", 5],
    ["{{ trigger.tags | size }}", 2],
    ["{{ trigger.hostile }}", { fine: 1 }],
    ["{{ trigger.__proto__ }}", null],
    ["{{ trigger.constructor.constructor }}", null],
  ])("%s keeps the value's type: %j", (template, value) => {
    expect(render({ body: [template] })).toStrictEqual({ body: [value] });
  });

  test("a value that JSON does not have is refused", () => {
    expect(thrownBy(() => render("{{ 1 | divided_by: 0 }}")).message).toBe("expected the result to be a finite number, got Infinity");
  });
});

describe("any other text", () => {
  test.each([
    ["{{ trigger.total }} EUR", "120 EUR"],
    [" {{ trigger.total }}", " 120"],
    ["{{ trigger.total }}{{ trigger.total }}", "120120"],
    ["{% if trigger.paid %}{{ trigger.total }}{% endif %}", "120"],
    ["Dear {{ trigger.name }}", 'Dear O"Br\\ien\nLtd'],
    ["{{ trigger.tags }}!", '["new","vip"]!'],
    ["{{ trigger.nope }}!", "!"],
    ["20", "20"],
    ["", ""],
  ])("%j stays a text: %j", (template, value) => {
    expect(render([template])).toStrictEqual([value]);
  });
});

test("what is no text stays as it is, and keys are no templates", () => {
  const value = { "{{ trigger.total }}": 1, list: [true, null, 2.5, { deep: {} }, []], constructor: "x" };
  expect(render(value)).toStrictEqual(value);
});

test("quotes, backslashes and line breaks of a value stay intact in a JSON body", () => {
  const body = JSON.stringify(render({ customer: "{{ trigger.name }}", greeting: "Dear {{ trigger.name }}" }));
  expect(JSON.parse(body)).toEqual({ customer: VARIABLES.trigger.name, greeting: `Dear ${VARIABLES.trigger.name}` });
});

test("a key that would set a prototype is left out of the result, and sets none", () => {
  const rendered = render(JSON.parse('{"__proto__": {"polluted": "{{ trigger.total }}"}, "a": 1}') as JsonValue) as Record<string, unknown>;
  expect(Object.keys(rendered)).toEqual(["a"]);
  expect(Object.getPrototypeOf(rendered)).toBe(Object.prototype);
  expect(rendered["polluted"]).toBeUndefined();
});

test("what PostgreSQL cannot store is replaced, in keys too; of two keys that become one the last stands", () => {
  expect(renderJson(["{{ a }}", "x{{ a }}"], { a: "\u0000\ud800" })).toEqual(["\uFFFD\uFFFD", "x\uFFFD\uFFFD"]);
  expect(renderJson("{{ a }}", { a: { "\u0000": 1, "x\udc00": { "\ud800": 2 }, "\ud800": 3 } })).toEqual({
    "\uFFFD": 3,
    "x\uFFFD": { "\uFFFD": 2 },
  });
});

test("an error names the text's path, and the place in it", () => {
  const error = thrownBy(() => render({ headers: [{ "X-A": "a\n{{ b | nope }}" }] }));
  expect(error.code).toBe("WORKFLOW.TEMPLATE");
  expect(error.facts).toEqual({ line: 2, column: 1, path: "headers.0.X-A" });
  expect(error.message).toBe("expected a template that renders, got undefined filter: nope at line 2, column 1 (in headers.0.X-A)");
});

test("all texts together make a megabyte at most", () => {
  const variables = { trigger: { list: Array.from({ length: 1000 }, () => "x".repeat(300)) } };
  expect(renderJson(["{{ trigger }}", "{{ trigger }}"], variables)).toHaveLength(2);
  expect(thrownBy(() => renderJson(["{{ trigger }}", "{{ trigger }}", "{{ trigger }}", "{{ trigger }}"], variables)).facts).toMatchObject({
    path: "3",
  });
});

test("a value that is nested too deeply is refused", () => {
  let value: JsonValue = "{{ trigger.total }}";
  for (let level = 0; level < 10_000; level += 1) value = [value];
  expect(thrownBy(() => render(value)).code).toBe("WORKFLOW.TEMPLATE");
});
