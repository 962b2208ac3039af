import { setTimeout as delay } from "node:timers/promises";

const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 100;

/**
 * Polls a condition until it yields something truthy, and returns that.
 *
 * A check that throws counts as "not yet". When the time is over, throws an error that names what was awaited
 * and what the check last gave; its `cause` is what the check last threw.
 */
export async function waitFor<T>(
  check: () => T | Promise<T>,
  options: { timeoutMs?: number; what?: string } = {},
): Promise<Exclude<T, false | null | undefined | 0 | "">> {
  const { timeoutMs = 10_000, what = "the condition to hold" } = options;
  const deadline = performance.now() + timeoutMs;
  let last: { value: unknown } | { error: unknown };
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      const value = await check();
      if (value) return value as Exclude<T, false | null | undefined | 0 | "">;
      last = { value };
    } catch (error) {
      last = { error };
    }
    if (performance.now() >= deadline) break;
    await delay(pauseMs);
  }
  const got = "error" in last ? `the error ${String(last.error)}` : show(last.value);
  throw new Error(`expected ${what} within ${timeoutMs} ms, got ${got}`, "error" in last ? { cause: last.error } : undefined);
}

function show(value: unknown): string {
  return value === undefined ? "undefined" : JSON.stringify(value);
}
