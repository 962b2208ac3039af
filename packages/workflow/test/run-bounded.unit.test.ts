import { expect, test } from "vitest";
import { runBounded, Timeout } from "../src/run-bounded.ts";

function forever(): never {
  for (;;);
}

test("code that ends in time gives what it returns, on the host's own objects", () => {
  const made = runBounded(1000, () => [new Date(0)]);
  expect(Array.isArray(made)).toBe(true);
  expect(made[0]).toBeInstanceOf(Date);
});

test("what the code throws comes through as it is", () => {
  const error = new RangeError("own");
  expect(() =>
    runBounded(1000, () => {
      throw error;
    }),
  ).toThrow(error);
});

test("an endless loop ends with a Timeout that names the limit", () => {
  expect(() => runBounded(50, forever)).toThrow(Timeout);
  expect(() => runBounded(50, forever)).toThrow("expected the code to end within 50 ms, got no end");
});

test("a regular expression that backtracks for years ends with a Timeout", () => {
  expect(() => runBounded(50, () => /^(?:a+)+$/.test(`${"a".repeat(60)}!`))).toThrow(Timeout);
});

test("the code cannot catch its end, nor put it off", () => {
  let caught = 0;
  const stubborn = (): void => {
    try {
      forever();
    } catch {
      caught += 1;
    } finally {
      caught += 1;
    }
  };
  expect(() => runBounded(50, stubborn)).toThrow(Timeout);
  expect(caught).toBe(0);
});

test("after a Timeout the next code runs as ever", () => {
  expect(() => runBounded(50, forever)).toThrow(Timeout);
  expect(runBounded(1000, () => "fine")).toBe("fine");
});

test("one limit inside another: the inner one ends the inner code alone", () => {
  const outer = (): string => {
    expect(() => runBounded(50, forever)).toThrow(Timeout);
    return "went on";
  };
  expect(runBounded(5000, outer)).toBe("went on");
});

test("a pause that was none of the code's doing costs another run, not the result", () => {
  const clock = new Int32Array(new SharedArrayBuffer(4));
  let runs = 0;
  const paused = (): number => {
    runs += 1;
    // Sleeps without using the processor, as a machine does that is not given one.
    if (runs === 1) Atomics.wait(clock, 0, 0, 2000);
    return runs;
  };
  expect(runBounded(200, paused)).toBeGreaterThan(1);
});
