import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeClaimValue, encodeClaim, encodeDone } from "../src/claim-value.ts";

describe("claim values", () => {
  it("give every JSON result back as it was, and never read it as a claim", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.uuid(), (result, token) => {
        const value = decodeClaimValue("k", encodeDone(token, result));
        // Compared after JSON, which knows one zero.
        expect(value).toEqual({ kind: "done", token, result: JSON.parse(JSON.stringify(result)) });
      }),
    );
  });

  it("never read a claim's own text, returned by a handler, as a claim", () => {
    const claim = encodeClaim("other");
    for (const result of [claim, JSON.parse(claim) as unknown]) {
      expect(decodeClaimValue("k", encodeDone("mine", result))).toEqual({ kind: "done", token: "mine", result });
    }
  });

  it("leave out a result that cannot be kept, and say why", () => {
    expect(decodeClaimValue("k", encodeDone("t", 1n))).toEqual({
      kind: "done",
      token: "t",
      result: undefined,
      omitted: expect.stringContaining("bigint"),
    });
  });

  it("keep undefined and null apart", () => {
    expect(decodeClaimValue("k", encodeDone("t", undefined))).toEqual({ kind: "done", token: "t", result: undefined });
    expect(decodeClaimValue("k", encodeDone("t", null))).toEqual({ kind: "done", token: "t", result: null });
  });

  it.each([
    "",
    "1",
    "null",
    "[]",
    "done",
    '{"v":2,"kind":"done","token":"t"}',
    '{"v":1,"kind":"other","token":"t"}',
    '{"v":1,"kind":"claim"}',
  ])("refuse the foreign value %j instead of guessing", (text) => {
    expect(() => decodeClaimValue("the-key", text)).toThrow(expect.objectContaining({ code: "STORE.VALUE", facts: { key: "the-key" } }));
  });
});
