import { describe, expect, it } from "vitest";
import { MAX_RESULT_BYTES, toStorableResult } from "../src/storable-result.ts";

describe("toStorableResult", () => {
  it.each([
    [undefined, undefined],
    [null, "null"],
    [0, "0"],
    ["", '""'],
    [false, "false"],
    [{ a: [1] }, '{"a":[1]}'],
  ])("keeps %j", (result, json) => {
    expect(toStorableResult(result)).toEqual({ kind: "kept", json });
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  const hostile = {
    get trap(): never {
      throw new Error("a getter that throws");
    },
  };
  const changedByJson = [Number.NaN, new Date(0), new Map(), new URL("http://a.test"), { n: 1n }, () => 0, Symbol("s"), cycle, hostile];
  it("leaves out what JSON would change or refuse, and never throws", () => {
    for (const result of changedByJson) expect(toStorableResult(result)).toEqual({ kind: "omitted", why: expect.stringMatching(/./) });
  });

  it("leaves out what is larger than its limit in bytes, not in characters", () => {
    expect(toStorableResult("x".repeat(MAX_RESULT_BYTES - 2)).kind).toBe("kept");
    expect(toStorableResult("x".repeat(MAX_RESULT_BYTES - 1)).kind).toBe("omitted");
    expect(toStorableResult("ü".repeat(MAX_RESULT_BYTES / 2)).kind).toBe("omitted");
  });
});
