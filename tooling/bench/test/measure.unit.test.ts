import { describe, expect, test } from "vitest";
import { measureCase, median, type BenchCase, type Side } from "../src/measure.ts";
import { CASE_NAMES, parseOptions } from "../src/options.ts";

function caseOf(steps: string[], faults: { baseline?: Error } = {}): BenchCase {
  const side = (label: string, fault?: Error): Side => ({
    label,
    prepare: async () => void steps.push(`prepare ${label}`),
    run: async () => void steps.push(`run ${label}`),
    verify: async () => {
      steps.push(`verify ${label}`);
      if (fault !== undefined) throw fault;
    },
  });
  const baseline = side("A", faults.baseline);
  return {
    name: "publish",
    title: "B ÷ A",
    unit: "steps",
    operations: 10,
    target: 0.5,
    settings: { size: 1 },
    baseline,
    product: side("B"),
    close: async () => undefined,
  };
}

describe("a case", () => {
  test("runs both sides in turns, each prepared before and verified after, and does not count the first turn", async () => {
    const steps: string[] = [];
    const result = await measureCase(caseOf(steps), { rounds: 2, quick: false }, () => undefined);
    const turn = ["prepare A", "run A", "verify A", "prepare B", "run B", "verify B"];
    expect(steps).toEqual([...turn, ...turn, ...turn]);
    expect([result.baseline.perSecond.length, result.product.perSecond.length, result.roundRatios.length]).toEqual([2, 2, 2]);
    expect(result.ratio).toBe(result.product.median / result.baseline.median);
    expect(result.met).toBe(result.ratio >= 0.5);
  });

  test("whose run did not do its work ends the bench instead of giving a number", async () => {
    const fault = new Error("expected 10 rows, got 9");
    await expect(measureCase(caseOf([], { baseline: fault }), { rounds: 1, quick: false }, () => undefined)).rejects.toBe(fault);
  });

  test("decides nothing on a quick run", async () => {
    expect((await measureCase(caseOf([]), { rounds: 1, quick: true }, () => undefined)).met).toBeNull();
  });
});

test("the median is the middle value, or the mean of the two middle ones", () => {
  expect([median([3, 1, 2]), median([4, 1, 3, 2]), median([7])]).toEqual([2, 2.5, 7]);
  expect(() => median([])).toThrow(RangeError);
});

test("options have defaults, and a wrong one is named", () => {
  expect(parseOptions([])).toEqual({ quick: false, rounds: 3, only: CASE_NAMES, json: false, out: undefined });
  expect(parseOptions(["--", "--quick", "--only", "consume, publish"])).toMatchObject({
    quick: true,
    rounds: 1,
    only: ["publish", "consume"],
  });
  expect(() => parseOptions(["--rounds", "0"])).toThrow("--rounds");
  expect(() => parseOptions(["--only", "nothing"])).toThrow("nothing");
  expect(() => parseOptions(["--fast"])).toThrow("--fast");
});
