import { describe, expect, test } from "vitest";
import { assertNever, CodedError, describeError, ERROR_CODES, errorCodeOf, isCodedError } from "../src/errors.ts";

describe("CodedError", () => {
  test("carries why, fix, facts, cause and whether a retry helps", () => {
    const cause = new Error("socket closed");
    const error = new CodedError("QUEUE.UNREACHABLE", "expected an answer, got none", { facts: { queue: "outbox.mail" }, cause });
    expect(error).toMatchObject({
      name: "CodedError",
      code: "QUEUE.UNREACHABLE",
      message: "expected an answer, got none",
      retry: true,
      facts: { queue: "outbox.mail" },
      cause,
    });
    expect(error.fix).toBe(ERROR_CODES["QUEUE.UNREACHABLE"].fix);
    expect("cause" in new CodedError("QUEUE.UNREACHABLE", "x")).toBe(false);
  });

  test("is recognised by its shape, also when another copy of the module made it", () => {
    const foreign = Object.assign(new Error("x"), { code: "HTTP.TIMEOUT", fix: "wait", retry: true, facts: {} });
    expect(isCodedError(foreign)).toBe(true);
    expect(isCodedError(new CodedError("HTTP.TIMEOUT", "x"))).toBe(true);
  });

  test.each([
    [new Error("x")],
    [Object.assign(new Error("x"), { code: "ECONNREFUSED" })],
    [Object.assign(new Error("x"), { code: "toString", fix: "" })],
    [{ code: "HTTP.TIMEOUT", fix: "" }],
    [null],
    [undefined],
    ["HTTP.TIMEOUT"],
  ])("does not take %o for one", (error) => {
    expect(isCodedError(error)).toBe(false);
  });
});

test("errorCodeOf names the code of coded and system errors, else the kind of what was thrown", () => {
  expect(
    [
      new CodedError("HTTP.TIMEOUT", "x"),
      Object.assign(new Error("x"), { code: "ECONNRESET" }),
      new TypeError("x"),
      Object.assign(new Error("x"), { code: 5 }),
      "text",
      null,
    ].map(errorCodeOf),
  ).toEqual(["HTTP.TIMEOUT", "ECONNRESET", "TypeError", "Error", "string", "object"]);
});

test("errorCodeOf gives nothing that PostgreSQL refuses, and no more than a hundred characters, whatever a peer calls its error", () => {
  const named = (name: unknown): Error => Object.assign(new Error("x"), { name });
  const coded = (code: string): Error => Object.assign(new Error("x"), { code });
  expect([coded("E\u0000"), coded("E\ud83d"), named("N\u0000"), named(5)].map(errorCodeOf)).toEqual([
    "E\uFFFD",
    "E\uFFFD",
    "N\uFFFD",
    "Error",
  ]);
  expect(errorCodeOf(coded("😀".repeat(1000)))).toBe("😀".repeat(50));
});

describe("describeError", () => {
  test("tells the message and its causes, each once", () => {
    const error = new Error("outer", { cause: new Error("middle", { cause: new Error("outer", { cause: "text" }) }) });
    expect(describeError(error)).toBe("outer: middle: text");
  });

  test("ends on a chain that is a ring, and on errors without a message", () => {
    const ring = new Error("a");
    ring.cause = new Error("b", { cause: ring });
    expect(describeError(ring)).toBe("a: b");
    expect(describeError(new RangeError())).toBe("RangeError");
    expect(describeError(undefined)).toBe("");
  });

  test("holds nothing PostgreSQL text refuses, and no more than it may", () => {
    expect(describeError(new Error("a\u0000b"))).toBe("a\uFFFDb");
    expect(describeError(new Error("x".repeat(5000)))).toHaveLength(2000);
    expect(describeError(new Error("x".repeat(50)), 10)).toHaveLength(10);
    expect(describeError(new Error("\ud83d"))).toBe("\uFFFD");
    expect(describeError(new Error("a😀😀"), 4)).toBe("a😀");
  });

  test("has words for whatever is thrown", () => {
    const ring: Record<string, unknown> = {};
    ring["self"] = ring;
    const thrown = [ring, { id: 1n }, Object.assign(new Error("x"), { message: Symbol("y") }), Symbol("z"), () => 1, 5n];
    expect(thrown.map((each) => describeError(each))).toEqual(["object", "object", "symbol", "symbol", "function", "bigint"]);
  });
});

test("assertNever throws, naming the value", () => {
  expect(() => assertNever("surprise" as never)).toThrow('"surprise"');
});
