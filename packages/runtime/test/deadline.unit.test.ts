import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { abortAfter, withDeadline } from "../src/deadline.ts";

const late = (): Error => new Error("too late");
const never = (): Promise<never> => new Promise(() => undefined);

describe("withDeadline", () => {
  test("passes on what the promise became", async () => {
    await expect(withDeadline(Promise.resolve(7), 10_000, late)).resolves.toBe(7);
    await expect(withDeadline(Promise.reject(new Error("own")), 10_000, late)).rejects.toThrow("own");
  });

  test("rejects with the given error when the promise never settles", async () => {
    await expect(withDeadline(never(), 5, late)).rejects.toThrow("too late");
    await expect(withDeadline(never(), -5, late)).rejects.toThrow("too late");
  });

  test("leaves no unhandled rejection when the promise fails after the deadline", async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    await expect(withDeadline(promise, 1, late)).rejects.toThrow("too late");
    reject(new Error("afterwards"));
    // An unhandled rejection fails the run.
    await new Promise((resolve) => setImmediate(resolve));
  });

  test("leaves no timer behind", async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers();
    await withDeadline(Promise.resolve(), 10_000, late);
    expect(timers()).toBe(before);
  });
});

describe("abortAfter", () => {
  test("aborts with a TimeoutError", async () => {
    const { signal } = abortAfter(1);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    expect(signal.reason).toMatchObject({ name: "TimeoutError" });
  });

  test("follows its parent, the aborted one too, and lets go of it when cleared", () => {
    const parent = new AbortController();
    const { signal, clear } = abortAfter(10_000, parent.signal);
    const cleared = abortAfter(10_000, parent.signal);
    cleared.clear();
    expect(getEventListeners(parent.signal, "abort")).toHaveLength(1);
    parent.abort(new Error("stop"));
    expect(signal.reason).toEqual(new Error("stop"));
    expect(cleared.signal.aborted).toBe(false);
    clear();
    const afterwards = abortAfter(10_000, parent.signal);
    expect(afterwards.signal.aborted).toBe(true);
    afterwards.clear();
  });
});
