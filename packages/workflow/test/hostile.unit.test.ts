import { isCodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { checkExpression, evaluateCondition, evaluateValue, isCase } from "../src/expressions.ts";
import { checkTemplate, renderHtml, renderJson, renderText, renderUrl } from "../src/templates.ts";
import { nested } from "./thrown-by.ts";

const SEED = Date.now() % 2 ** 31;

const HIDDEN = ["__proto__", "constructor", "prototype"];
const ENGINE_PARTS = [Object, Array, String, Number, Function, Map, Date].map(({ prototype }) => prototype as object);
const BEFORE = ENGINE_PARTS.map((part) => Reflect.ownKeys(part).length);

afterEach(() => {
  const changed = ENGINE_PARTS.filter((part, index) => Reflect.ownKeys(part).length !== BEFORE[index]);
  if (changed.length > 0 || "polluted" in {}) throw new Error("expected the prototypes of the process to be as they were, got others");
});

/** Runs what may refuse, but in its own words alone. */
function endOf(code: "WORKFLOW.EXPRESSION" | "WORKFLOW.TEMPLATE", run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    if (isCodedError(error) && error.code === code) return code;
    throw error;
  }
}

function everyEnd(text: string, variables: Record<string, JsonValue>): unknown[] {
  return [
    ...[checkExpression, evaluateValue, evaluateCondition].map((run) => endOf("WORKFLOW.EXPRESSION", () => run(text, variables))),
    ...[checkTemplate, renderText, renderHtml, renderUrl, renderJson].map((run) => endOf("WORKFLOW.TEMPLATE", () => run(text, variables))),
    endOf("WORKFLOW.TEMPLATE", () => renderJson({ a: [text, `x${text}`] }, variables)),
  ];
}

const hostileJson = JSON.parse(
  '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "a": "b", "toString": 1, "then": 2}',
) as JsonValue;
const MILLIONS = "x".repeat(5_000_000);

const VARIABLES: Record<string, JsonValue> = {
  trigger: hostileJson,
  a: { b: [1, "2", null, { c: true }], s: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", n: 20 },
  rows: Array.from({ length: 5000 }, (_, index) => index),
  text: "x".repeat(300_000),
  large: MILLIONS,
};

describe("one by one", () => {
  test.each<[name: string, text: string]>([
    ["a path to the prototype", "trigger.__proto__.polluted"],
    ["a path to Function", "''.constructor.constructor('return process')()"],
    ["a path to Function in a placeholder", "{{ trigger.constructor.constructor }}{{ trigger['__proto__']['polluted'] }}"],
    [
      "an assignment to the prototype",
      "{% assign __proto__ = trigger %}{% capture constructor %}x{% endcapture %}{{ __proto__.polluted }}",
    ],
    ["a pattern that backtracks", "a.s.matches('^(a+)+$')"],
    ["a filter with a pattern's characters", "{{ a.s | replace: '(a+)+$', 'x' | split: '(a+)+' | join: '(.*)*' }}"],
    ["a date of many digits", `{{ '${"1".repeat(50_000)}x' | date: '%Y' }}{{ '${"+0".repeat(20_000)}' | date: '%s' }}`],
    ["a text of spaces", `{{ '${" ".repeat(50_000)}x' | strip | squish | truncatewords: 3 | strip_html | slugify }}`],
    ["unclosed tags of HTML", `{{ '${"<".repeat(50_000)}' | strip_html }}{{ '${"<!--".repeat(20_000)}' | strip_html }}`],
    ["ten thousand brackets", nested(10_000)],
    ["ten thousand open brackets", "[".repeat(10_000)],
    ["two thousand open brackets", "(".repeat(2000)],
    ["a thousand signs", `${"!".repeat(999)}a`],
    ["ten thousand brackets in a placeholder", `{{ a${"[0".repeat(10_000)}${"]".repeat(10_000)} }}`],
    ["ten thousand tags in each other", "{% if a %}".repeat(10_000) + "{% endif %}".repeat(10_000)],
    ["five megabytes", MILLIONS],
    ["five megabytes of data", "large"],
    ["five megabytes of data in a placeholder", "{{ large }}{{ large | upcase }}"],
    ["a thousand million numbers", "{% for i in (1..1000000000) %}{{ i }}{% endfor %}"],
    [
      "a range that ends nowhere",
      "{% assign n = 1 | divided_by: 0 %}{% for i in (1..n) %}{{ i }}{% endfor %}{% for i in (n..n) %}{% endfor %}",
    ],
    ["ranges as large as they may be", "{% for i in (1..1000000) %}{% for j in (1..1000000) %}{{ i | times: j }}{% endfor %}{% endfor %}"],
    ["loops in loops", "rows.all(x, rows.all(y, rows.all(z, x + y + z >= 0)))"],
    ["lists of lists of lists", "rows.map(x, rows.map(y, rows.map(z, rows)))"],
    ["a text for each text", "rows.map(x, text + text).map(x, x + x).join(text)"],
    ["a list compared with a number", "{% if rows > 1 %}{% endif %}{{ text | append: rows | prepend: rows | times: rows }}"],
    ["half of a surrogate pair", "'\ud800'"],
    ["nothing", ""],
  ])("%s ends, with a value or the right error", (_, text) => {
    expect(everyEnd(text, VARIABLES)).toHaveLength(9);
  });

  test("ten thousand levels of data end with an error where they are read", () => {
    let deep: JsonValue = [];
    for (let level = 0; level < 10_000; level += 1) deep = [deep];
    expect(everyEnd("deep", { deep }).slice(1, 3)).toEqual(["WORKFLOW.EXPRESSION", "WORKFLOW.EXPRESSION"]);
    expect(everyEnd("{{ deep }}", { deep }).slice(4)).toEqual(Array.from({ length: 5 }, () => "WORKFLOW.TEMPLATE"));
  });
});

describe(`at random, seed ${SEED}`, () => {
  const signs = ". .. , : ? | || && ! = == + - * / % < > ( ) [ ] { } {{ }} {% %} -%} ' \" \\ # //".split(" ");
  const names = "trigger a b rows text x nope in forloop empty true null .b .s .n [0] 1 0.5 1e9 9223372036854775807 -1 's' r'\\d' \n".split(
    " ",
  );
  const calls = "has( size( .map( .all(x, .filter(x, .join( .split('') .matches( timestamp( duration('1h') (1.. 1000000)".split(" ");
  const tags = "for endfor if endif else assign capture endcapture case when echo liquid raw include push: json where: sort slice:".split(
    " ",
  );
  const hidden = [...HIDDEN, ...HIDDEN.map((key) => `.${key}`)];
  const words = fc.constantFrom(
    ...signs,
    ...names,
    ...calls,
    ...tags,
    ...hidden,
    "for i in",
    "assign x =",
    "replace: 'a',",
    "date: '%Y'",
    "truncate: -1",
  );
  const soup = fc.array(words, { maxLength: 25 }).map((parts) => parts.join(" "));
  const placeholder = fc.array(words, { maxLength: 12 }).map((parts) => `{{ ${parts.join(" ")} }}`);
  const tag = fc.array(words, { maxLength: 12 }).map((parts) => `{% ${parts.join(" ")} %}`);

  test("texts of the languages' own words end with a value or the right error", () => {
    const text = fc.oneof(
      soup,
      placeholder,
      tag,
      fc.array(fc.oneof(placeholder, tag, soup), { maxLength: 5 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, (source) => {
        expect(everyEnd(source, VARIABLES)).toHaveLength(9);
      }),
      { seed: SEED, numRuns: 400 },
    );
  });

  const { expression } = fc.letrec<{ expression: string; atom: string }>((tie) => ({
    atom: fc.constantFrom("a.n", "a.b", "a.s", "x", "rows", "trigger", "nope.x", "1", "2.5", "'s'", "null", "true", "[1, 'x']", "{'k': 1}"),
    expression: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      tie("atom"),
      fc
        .tuple(tie("expression"), fc.constantFrom("+", "-", "*", "/", "%", "==", "!=", "<", ">=", "in", "&&", "||"), tie("expression"))
        .map((parts) => `(${parts.join(" ")})`),
      fc
        .tuple(tie("expression"), fc.constantFrom("all", "exists", "exists_one", "filter", "map"), tie("expression"))
        .map(([on, name, body]) => `(${on}).${name}(x, ${body})`),
      fc
        .tuple(tie("expression"), fc.constantFrom(...HIDDEN, "b", "size()", "upperAscii()", "split('')", "join('-')"))
        .map(([on, name]) => `(${on}).${name}`),
      fc.tuple(tie("expression"), tie("expression")).map(([on, key]) => `(${on})[${key}]`),
      fc.tuple(tie("expression"), tie("expression"), tie("expression")).map(([test, yes, no]) => `(${test} ? ${yes} : ${no})`),
      fc
        .tuple(fc.constantFrom("size", "string", "int", "double", "bool", "type", "dyn", "!", "-"), tie("expression"))
        .map(([name, value]) => `${name}(${value})`),
    ),
  }));

  test("expressions that parse end with a value that JSON has, or the right error", () => {
    fc.assert(
      fc.property(expression, (source) => {
        const value = endOf("WORKFLOW.EXPRESSION", () => evaluateValue(source, VARIABLES));
        expect(JSON.parse(JSON.stringify(value))).toEqual(value);
        expect(typeof endOf("WORKFLOW.EXPRESSION", () => evaluateCondition(source, VARIABLES))).toMatch(/^(?:boolean|string)$/);
      }),
      { seed: SEED, numRuns: 600 },
    );
  });

  const key = fc.oneof(
    fc.constantFrom(...HIDDEN, "a", "size", "first", "then", "toJSON", "toString", "toLiquid", "valueOf", "length"),
    fc.string(),
  );
  const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(fc.string({ unit: "binary" }), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
      fc.array(tie("json"), { maxLength: 5 }),
      // As a parser makes it: `__proto__` is a key of its own.
      fc.array(fc.tuple(key, tie("json")), { maxLength: 5 }).map((entries) => Object.fromEntries(entries) as JsonValue),
    ),
  }));

  function withoutHidden(value: JsonValue): JsonValue {
    return JSON.parse(JSON.stringify(value, (name, member: JsonValue) => (HIDDEN.includes(name) ? undefined : member))) as JsonValue;
  }

  test("data comes through as it is, without the keys that lead behind it", () => {
    fc.assert(
      fc.property(
        json.filter((value) => JSON.stringify(value) !== undefined && !JSON.stringify(value).includes("\\u")),
        (value) => {
          const expected = withoutHidden(value);
          expect(evaluateValue("data", { data: value })).toEqual(expected);
          expect(renderJson(["{{ data }}"], { data: value })).toEqual([expected]);
          expect(typeof renderText("{{ data }}{{ data.size }}{{ data | json }}", { data: value })).toBe("string");
        },
      ),
      { seed: SEED, numRuns: 300 },
    );
  });

  test("data is never a template: what it says comes out as it was", () => {
    fc.assert(
      fc.property(fc.oneof(soup, placeholder, tag), (data) => {
        expect(renderText("<{{ data }}>", { data })).toBe(`<${data}>`);
        expect(renderJson({ a: "{{ data }}" }, { data })).toEqual({ a: data });
        expect(decodeURIComponent(renderUrl("{{ data }}", { data: `x${data}` }))).toBe(`x${data}`);
      }),
      { seed: SEED, numRuns: 200 },
    );
  });

  test("whether a value is a case is always an answer, and the same from both sides", () => {
    fc.assert(
      fc.property(json, json, (value, caseValue) => {
        expect(isCase(value, caseValue)).toBe(isCase(caseValue, value));
        expect(isCase(value, value)).toBe(typeof value !== "object" || value === null);
      }),
      { seed: SEED },
    );
  });
});
