import type { JsonValue } from "@toolctrl/foundation/json";
import { describe, expect, test } from "vitest";
import { checkExpression, evaluateCondition, evaluateValue } from "../src/expressions.ts";
import { thrownBy } from "./thrown-by.ts";

const VARIABLES = {
  trigger: {
    total: 120,
    rate: 2.5,
    name: "Ada",
    paid: true,
    note: null,
    at: "2024-01-15T14:30:45Z",
    tags: ["new", "vip"],
    numbers: [1, 2],
    items: [{ price: 1 }, { price: 5 }, {}],
    address: { city: "Bern", "zip-code": 3000 },
  },
  steps: { "find-lead": { status: 200 } },
};

const valueOf = (source: string): JsonValue => evaluateValue(source, VARIABLES);
const problemOf = (source: string): string => thrownBy(() => evaluateValue(source, VARIABLES)).message;

describe("values", () => {
  test.each<[source: string, value: JsonValue]>([
    ["trigger.total + 1", 121],
    ["1 + trigger.total", 121],
    ["trigger.total * trigger.rate", 300],
    ["trigger.total % 50", 20],
    ["trigger.total / 50", 2.4],
    ["7 / 2", 3],
    ["7.0 / 2", 3.5],
    ["-trigger.rate", -2.5],
    ["size(trigger.tags) + size(trigger.name)", 5],
    ["trigger.name + '!'", "Ada!"],
    [String.raw`'\x41\n"' + "'"`, "A\n\"'"],
    ["0.0000001", 1e-7],
    ["5.0", 5],
    ["1e21", 1e21],
    ["trigger.tags", ["new", "vip"]],
    ["trigger.tags + ['x']", ["new", "vip", "x"]],
    ["trigger.tags.join(', ')", "new, vip"],
    ["trigger.tags.map(tag, tag.upperAscii())", ["NEW", "VIP"]],
    ["trigger.items.filter(item, item.price > 2)", [{ price: 5 }]],
    ["trigger.items.map(item, item.price > 0, item.price + 1)", [2, 6]],
    ["trigger.address.map(key, key)", ["city", "zip-code"]],
    ["trigger.address['zip-code']", 3000],
    ["steps['find-lead'].status", 200],
    ["{'name': trigger.name, 'list': [1, null, 'x']}", { name: "Ada", list: [1, null, "x"] }],
    ["trigger.paid ? 'yes' : 'no'", "yes"],
    [String.raw`{'k\u0000': '\u0000'}`, { "k\uFFFD": "\uFFFD" }],
    ["timestamp(trigger.at) + duration('1h')", "2024-01-15T15:30:45.000Z"],
    ["timestamp(trigger.at).getFullYear()", 2024],
    ["type(trigger.total) == double", true],
    ["trigger.total // in euros", 120],
  ])("%s is %j", (source, value) => {
    expect(valueOf(source)).toStrictEqual(value);
  });

  test("whole numbers are JSON numbers up to 2^53 - 1, and an error beyond", () => {
    expect(valueOf("9007199254740991")).toBe(9007199254740991);
    expect(valueOf("-9007199254740991")).toBe(-9007199254740991);
    expect(problemOf("9007199254740992")).toBe(
      "expected the result to be a whole number of at most 9007199254740991, got 9007199254740992",
    );
    expect(problemOf("9223372036854775807 + 1")).toContain("integer overflow");
  });

  test.each(["1.0 / 0.0", "double('nan')", "type(1)", "string", "duration('1s')", "google.protobuf"])(
    "%s has no JSON, and is an error",
    (source) => {
      expect(thrownBy(() => valueOf(source)).code).toBe("WORKFLOW.EXPRESSION");
    },
  );
});

describe("what is not there", () => {
  test.each([
    "trigger.nope",
    "trigger.nope.deeper[3].x",
    "nope",
    "nope.at.all",
    "trigger.tags[7]",
    "trigger.tags[-1]",
    "trigger.tags[0.5]",
  ])("%s is null", (source) => {
    expect(valueOf(source)).toBeNull();
  });

  test.each([
    "trigger.name.length",
    "trigger.total.x",
    "trigger.tags.length",
    "trigger.note.x",
    "trigger.tags['0']",
    "trigger[0]",
    "trigger[null]",
  ])("%s is null: only objects have keys, only lists have places", (source) => {
    expect(valueOf(source)).toBeNull();
  });

  test.each([
    "trigger.__proto__.polluted",
    "trigger.constructor.constructor",
    "trigger['__proto__']",
    "trigger['__pro' + 'to__']",
    "trigger.prototype",
    "trigger.tags.constructor",
    "trigger.name.constructor",
    "timestamp(trigger.at).constructor",
    "cel.__proto__",
    "google.__proto__",
    "constructor",
    "toString",
    "trigger.toString",
    "[trigger.constructor][0]",
    "{'a': 1}.constructor",
  ])("%s reaches nothing", (source) => {
    expect(valueOf(source)).toBeNull();
  });

  test.each<[source: string, value: boolean]>([
    ["trigger.nope == null", true],
    ["trigger.nope != null", false],
    ["trigger.nope == 'x'", false],
    ["0 == trigger.nope", false],
    ["trigger.nope > 5", false],
    ["trigger.nope <= 5", false],
    ["'a' < trigger.nope", false],
    ["trigger.nope < trigger.nope", false],
    ["timestamp(trigger.at) > trigger.nope", false],
    ["trigger.nope in ['x']", false],
    ["'x' in trigger.nope", false],
    ["trigger.nope.startsWith('x')", false],
    ["trigger.name.contains(trigger.nope)", false],
    ["trigger.nope.endsWith(trigger.nope)", false],
    ["size(trigger.nope) == 0", true],
    ["trigger.nope.exists(x, x == 1)", false],
    ["trigger.nope.all(x, x == 1)", true],
    ["has(trigger.nope)", false],
    ["has(trigger.nope.deeper.still)", false],
    ["has(trigger.note)", true],
    ["has(trigger.name)", true],
    ["has(trigger.constructor)", false],
  ])("%s is %s", (source, value) => {
    expect(valueOf(source)).toBe(value);
  });

  test("to calculate with it is an error", () => {
    expect(problemOf("trigger.nope + 1")).toBe("expected operands of types that fit at line 1, column 9, got no such overload: null + int");
  });
});

describe("conditions", () => {
  test.each<[source: string, holds: boolean]>([
    ["true", true],
    ["false", false],
    ["null", false],
    ["trigger.nope", false],
    ["trigger.paid", true],
    ["!trigger.nope", true],
    ["trigger.paid && trigger.nope", false],
    ["trigger.nope || trigger.paid", true],
    ["trigger.nope ? false : true", true],
    ["trigger.items.exists(item, item.price == 5 && trigger.total == 120)", true],
    ["trigger.items.all(item, item.paid)", false],
    ["trigger.total == 120", true],
    ["trigger.total == '120'", false],
    ["trigger.total in [119, 120]", true],
    ["2 in trigger.numbers", true],
    ["trigger.numbers == [1, 2]", true],
    ["trigger.address == {'city': 'Bern', 'zip-code': 3000}", true],
    ["'city' in trigger.address", true],
  ])("%s: %s", (source, holds) => {
    expect(evaluateCondition(source, VARIABLES)).toBe(holds);
  });

  test("an error beside && or || is of no account when the other side decides alone", () => {
    expect(evaluateCondition("trigger.name && false", VARIABLES)).toBe(false);
    expect(evaluateCondition("trigger.name || trigger.paid", VARIABLES)).toBe(true);
  });

  test.each([
    ["trigger.total", "a number"],
    ["trigger.name", "a string"],
    ["''", "a string"],
    ["0", "a number"],
    ["trigger.tags", "a list"],
    ["trigger", "an object"],
    ["trigger.name && true", "a string"],
    ["!trigger.total", "a number"],
    ["trigger.total ? true : false", "a number"],
    ["trigger.items.exists(item, item)", "an object"],
    ["trigger.items.filter(item, item.price).size() > 0", "a number"],
  ])("%s is no condition, but %s", (source, kind) => {
    const { code, message } = thrownBy(() => evaluateCondition(source, VARIABLES));
    expect(code).toBe("WORKFLOW.EXPRESSION");
    expect(message).toMatch(/^expected a condition to be true, false or null/);
    expect(message).toContain(kind);
  });
});

describe("the check", () => {
  test("what can be run passes, whatever the data will be", () => {
    for (const source of ["trigger.total > 100", "has(a.b)", "a.b.c[0].d == null", "x.map(y, y.z)", "timestamp(a) < timestamp(b)"]) {
      expect(checkExpression(source)).toBeUndefined();
    }
  });

  test.each([
    ["", 1, 1, "a value", "the end"],
    ["trigger.total >", 1, 16, "a value", "the end"],
    ["trigger.\n  total >\n  * 3", 3, 3, "a value", '"*"'],
    ["(1 + 2", 1, 7, '")"', "the end"],
    ["a[1", 1, 4, '"]"', "the end"],
    ["{'a': 1", 1, 8, '"}"', "the end"],
    ["a.", 1, 3, "a name", "the end"],
    ["a ? b", 1, 6, '":"', "the end"],
    ["a b", 1, 3, "an operator, a value or the end", '"b"'],
    ["a = b", 1, 3, "an operator, a value or the end", '"="'],
    ["for", 1, 1, "a name that is not reserved", '"for"'],
    ["a == 1 && foo(1)", 1, 11, "a function of the language", "foo"],
    ["a.matches('x')", 1, 1, "a function of the language", "matches"],
    ["a && matches(b, 'x')", 1, 6, "a function of the language", "matches"],
    ["b'abc'.json()", 1, 1, "a function of the language", "json"],
    ["cel.bind(x, 1, x)", 1, 1, "a function of the language", "bind"],
    ["__read(a, 'b')", 1, 1, "a function of the language", "__read"],
    ["__variables.trigger", 1, 1, "a name without __ in front", "__variables"],
    ["a.map(__room, 1)", 1, 7, "a name without __ in front", "__room"],
    ["b'abc'", 1, 1, "a value that JSON has", "bytes or an unsigned number"],
    ["1 + 1u", 1, 5, "a value that JSON has", "bytes or an unsigned number"],
    ["has(a)", 1, 1, "has() to be given a path", "something else"],
    ["1 && true", 1, 1, "a condition to be true, false or null", "Logical operator requires bool operands, got 'int'"],
    ["'a' + 1", 1, 1, "operands of types that fit", "no such overload: string + int"],
    ["a ? 1 : 'x'", 1, 1, "two values of one type", "Ternary branches must have the same type, got 'int' and 'string'"],
  ])("%j: line %i, column %i, expected %s, got %s", (source, line, column, expected, got) => {
    const error = thrownBy(() => checkExpression(source));
    expect(error.code).toBe("WORKFLOW.EXPRESSION");
    expect(error.facts).toEqual({ line, column, expected, got });
    expect(error.message).toBe(`expected ${expected} at line ${line}, column ${column}, got ${got}`);
  });

  test("an error that only the data shows has its place in what was written, too", () => {
    expect(thrownBy(() => valueOf("trigger.paid &&\n  trigger.name > 5")).facts).toMatchObject({ line: 2 });
    expect(thrownBy(() => valueOf("trigger.paid &&\n  trigger.name")).facts).toMatchObject({ line: 2, got: "a string" });
  });

  test("an expression has at most 2000 characters and 60 nodes", () => {
    expect(checkExpression(`'${"x".repeat(1998)}'`)).toBeUndefined();
    expect(problemOf(`'${"x".repeat(1999)}'`)).toContain("at most 2000 characters");
    expect(checkExpression(Array.from({ length: 30 }, () => "1").join(" + "))).toBeUndefined();
    expect(problemOf(Array.from({ length: 31 }, () => "1").join(" + "))).toContain("a smaller expression");
  });
});

describe("the limits", () => {
  const big = "x".repeat(700_000);
  const evaluate = (source: string): JsonValue => evaluateValue(source, { big, rows: Array.from({ length: 20_000 }, (_, index) => index) });

  test("loops in loops are stopped", () => {
    expect(thrownBy(() => evaluate("rows.all(a, rows.all(b, rows.all(c, a + b + c >= 0)))")).message).toBe(
      "expected an end within 500 ms, got none",
    );
  });

  test.each([
    "big + big",
    "rows.map(x, big).join('')",
    "[big, big].map(x, x.lowerAscii())",
    "rows.map(x, big.upperAscii()).size()",
    "['a', 'b'].map(x, rows + rows).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).map(x, x + x).size()",
    "['', '', ''].join(big)",
  ])("%s makes no more than a payload may have", (source) => {
    expect(thrownBy(() => evaluate(source)).code).toBe("WORKFLOW.EXPRESSION");
  });

  test("data beyond a megabyte is an error where it is read, and no burden where it is not", () => {
    const variables = { steps: { large: "x".repeat(5_000_000), small: 1 } };
    expect(evaluateValue("steps.small", variables)).toBe(1);
    expect(thrownBy(() => evaluateValue("size(steps.large)", variables)).message).toContain("the data that is read");
  });

  test("data is only read: an expression changes nothing", () => {
    const variables = { trigger: { list: [1] } };
    evaluateValue("trigger.list + [2]", variables);
    expect(variables).toEqual({ trigger: { list: [1] } });
  });
});
