import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isCodedError } from "../src/errors.ts";
import { encodeStrictJson, MAX_PAYLOAD_BYTES, MAX_PAYLOAD_DEPTH } from "../src/json.ts";

const LONG_TEXT = "x".repeat(MAX_PAYLOAD_BYTES - 100);

function refusalOf(payload: unknown): unknown {
  try {
    encodeStrictJson(payload);
  } catch (error) {
    return error;
  }
  return null;
}

function nest(levels: number, inner: unknown): unknown {
  let value = inner;
  for (let level = 0; level < levels; level += 1) value = { d: value };
  return value;
}

function cycle(): unknown {
  const value: Record<string, unknown> = {};
  value["self"] = { back: value };
  return value;
}

function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}

/** What `read` answers, in a getter. */
function reading(read: () => unknown): unknown {
  return Object.defineProperty({}, "s", { enumerable: true, get: read });
}

/** Written down it would be 2^levels times as long. */
function sharedTwice(levels: number, inner: unknown): unknown {
  let value = inner;
  for (let level = 0; level < levels; level += 1) value = [value, value];
  return value;
}

class Decimal {
  value = "1.10";
  toJSON(): string {
    return this.value;
  }
}

describe("what JSON or PostgreSQL would change or refuse is refused, with its path", () => {
  test.each<[name: string, payload: unknown, path: string]>([
    ["a bigint", { id: 1n }, "payload.id"],
    ["NaN", { x: Number.NaN }, "payload.x"],
    ["Infinity", [[-Infinity]], "payload[0][0]"],
    ["a Map", { m: new Map() }, "payload.m"],
    ["a Set", { m: new Set([1]) }, "payload.m"],
    ["a function", { f() {} }, "payload.f"],
    ["a symbol", { s: Symbol("x") }, "payload.s"],
    ["a symbol key", { a: { [Symbol("x")]: 1 } }, "payload.a"],
    ["a cycle", cycle(), "payload.self.back"],
    ["a Date", { at: new Date(0) }, "payload.at"],
    ["an invalid Date", { at: new Date(Number.NaN) }, "payload.at"],
    ["a Decimal", { price: new Decimal() }, "payload.price"],
    ["a Buffer", { b: Buffer.from("x") }, "payload.b"],
    ["a RegExp", { r: /x/ }, "payload.r"],
    ["an Error", { e: new Error("x") }, "payload.e"],
    ["a boxed number", { n: Object(1) as unknown }, "payload.n"],
    ["a promise", { p: Promise.resolve(1) }, "payload.p"],
    ["undefined", undefined, "payload"],
    ["undefined in an array", { a: [1, undefined] }, "payload.a[1]"],
    // oxlint-disable-next-line no-sparse-arrays
    ["a hole in an array", { a: [1, , 3] }, "payload.a[1]"],
    ["an array with properties of its own", { a: Object.assign([1], { extra: 1 }) }, "payload.a"],
    ["an array with a symbol key", { a: Object.assign([1], { [Symbol("x")]: 1 }) }, "payload.a"],
    ["JSON text that is written as it is", { a: [rawJson('"\\u0000"')] }, "payload.a[0]"],
    ["a number that is written as it is", { id: rawJson("9007199254740993") }, "payload.id"],
    ["a hidden toJSON", { a: Object.defineProperty({}, "toJSON", { value: () => "changed" }) }, "payload.a"],
    ["a hidden toJSON of an array", { a: Object.defineProperty([1], "toJSON", { value: () => "changed" }) }, "payload.a"],
    ["U+0000", { deep: [{ s: "a\u0000b" }] }, "payload.deep[0].s"],
    ["U+0000 in a key", { deep: { "a\u0000": 1 } }, 'payload.deep["a\\u0000"] (key)'],
    ["half a surrogate pair", { s: "\ud83d" }, "payload.s"],
    ["half a surrogate pair in a key", { "\udc00x": 1 }, 'payload["\\udc00x"] (key)'],
  ])("%s", (_name, payload, path) => {
    expect(refusalOf(payload)).toMatchObject({
      code: "PUBLISH.PAYLOAD_NOT_JSON",
      retry: false,
      facts: { path },
      message: expect.stringContaining(path),
    });
  });

  test("nesting above the limit, however deep, and not the limit itself", () => {
    expect(refusalOf(nest(MAX_PAYLOAD_DEPTH, 1))).toBeNull();
    for (const levels of [MAX_PAYLOAD_DEPTH + 1, 5000, 200_000]) {
      expect(refusalOf(nest(levels, 1))).toMatchObject({
        code: "PUBLISH.PAYLOAD_NOT_JSON",
        facts: { expected: expect.stringContaining("nesting") },
      });
    }
  });

  test("more bytes than the limit, counted as UTF-8, and not the limit itself", () => {
    expect(encodeStrictJson("x".repeat(MAX_PAYLOAD_BYTES - 2)).bytes).toBe(MAX_PAYLOAD_BYTES);
    expect(refusalOf("x".repeat(MAX_PAYLOAD_BYTES - 1))).toMatchObject({
      code: "PUBLISH.PAYLOAD_TOO_LARGE",
      facts: { bytes: MAX_PAYLOAD_BYTES + 1 },
    });
    expect(refusalOf("é".repeat(MAX_PAYLOAD_BYTES / 2))).toMatchObject({ code: "PUBLISH.PAYLOAD_TOO_LARGE" });
  });

  test("what is shared so often that it would be longer than the limit, without being written down first", () => {
    expect(refusalOf(sharedTwice(MAX_PAYLOAD_DEPTH - 1, {}))).toMatchObject({ code: "PUBLISH.PAYLOAD_TOO_LARGE" });
    expect(refusalOf(Array.from({ length: 2000 }, () => LONG_TEXT))).toMatchObject({ code: "PUBLISH.PAYLOAD_TOO_LARGE" });
    expect(refusalOf(Array.from({ length: 2000 }, () => ({ [LONG_TEXT]: 1 })))).toMatchObject({ code: "PUBLISH.PAYLOAD_TOO_LARGE" });
    expect(encodeStrictJson(sharedTwice(17, 1)).bytes).toBe(2 ** 17 + 3 * (2 ** 17 - 1));
  });
});

describe("what is accepted", () => {
  test("comes back from JSON as it was", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8, stringUnit: "binary" }), (payload) => {
        fc.pre(!JSON.stringify(payload).includes("\\u0000"));
        const { json, value, bytes } = encodeStrictJson(payload);
        expect(JSON.parse(json)).toStrictEqual(asJsonKnowsIt(payload));
        expect(value).toStrictEqual(asJsonKnowsIt(payload));
        expect(bytes).toBe(new TextEncoder().encode(json).length);
      }),
    );
  });

  test("comes back as it was for any value whatever: all else is refused, with a path", () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withObjectString: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: "binary",
    });
    const outcomes = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(anything, (payload) => {
        const refusal = refusalOf(payload);
        outcomes[refusal === null ? "accepted" : "refused"] += 1;
        return refusal === null ? comesBack(payload) : namesItsPath(refusal);
      }),
      { numRuns: 2000 },
    );
    expect(Math.min(outcomes.accepted, outcomes.refused)).toBeGreaterThan(100);
  });

  test("the same object in two places is no cycle", () => {
    const shared = { a: 1 };
    expect(encodeStrictJson({ x: shared, y: [shared, shared] }).json).toBe('{"x":{"a":1},"y":[{"a":1},{"a":1}]}');
  });

  test("is read once: what is written is what was checked, whatever is answered later", () => {
    const answers = ["checked", "\u0000"];
    const { json, value } = encodeStrictJson({ a: reading(() => answers.shift()) });
    expect([json, value]).toEqual(['{"a":{"s":"checked"}}', { a: { s: "checked" } }]);
  });

  test("a property that is undefined is left out, and -0 becomes 0", () => {
    expect(encodeStrictJson({ a: undefined, b: -0 }).json).toBe('{"b":0}');
  });

  test("an own __proto__ key is data like any other", () => {
    const payload: unknown = JSON.parse('{"__proto__":{"polluted":true}}');
    expect(encodeStrictJson(payload).json).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

function comesBack(payload: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(encodeStrictJson(payload).json), asJsonKnowsIt(payload));
}

function namesItsPath(refusal: unknown): boolean {
  return isCodedError(refusal) && refusal.code === "PUBLISH.PAYLOAD_NOT_JSON" && String(refusal.facts["path"]).startsWith("payload");
}

/** The value with the two differences JSON cannot tell removed, built without JSON. */
function asJsonKnowsIt(value: unknown): unknown {
  if (typeof value === "number") return value === 0 ? 0 : value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(asJsonKnowsIt);
  const copy: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined)
      Object.defineProperty(copy, key, { value: asJsonKnowsIt(member), enumerable: true, writable: true, configurable: true });
  }
  return copy;
}
