import { afterEach, expect, test, vi } from "vitest";
import { parseRetryAfter } from "../src/external-call/retry-after.ts";

const HOUR_MS = 3_600_000;
const DATE = "Thu, 01 Jan 2026 00:00:00 GMT";

afterEach(() => {
  vi.unstubAllEnvs();
});

test.each([
  ["seconds", "120", 120_000],
  ["none", "0", 0],
  ["spaces around them", " 120 ", 120_000],
  ["the cap", "3601", HOUR_MS],
  ["eleven digits", "99999999999", HOUR_MS],
  ["more digits than a number has", "9".repeat(400), HOUR_MS],
  ["a date", "Thu, 01 Jan 2026 00:02:00 GMT", 120_000],
  ["a date as RFC 850 wrote it", "Thursday, 01-Jan-26 00:02:00 GMT", 120_000],
  ["a date as asctime writes it", "Thu Jan  1 00:02:00 2026", 120_000],
  ["a date with a day of two digits, as asctime writes it", "Thu Jan 01 00:02:00 2026", 120_000],
  ["a date that is over", "Wed, 31 Dec 2025 23:59:00 GMT", 0],
  ["a header that came twice", "120, 120", 120_000],
  ["two that differ", "60, 120", 120_000],
  ["two dates", "Thu, 01 Jan 2026 00:02:00 GMT, Thu, 01 Jan 2026 00:01:00 GMT", 120_000],
  ["two dates of old forms, and seconds", "Thursday, 01-Jan-26 00:02:00 GMT, Thu Jan  1 00:01:00 2026, 30", 120_000],
  ["one that is malformed beside one that is not", "soon, 120", 120_000],
  ["a fraction", "120.5", null],
  ["less than nothing", "-5", null],
  ["a date without a zone", "Thu, 01 Jan 2026 00:02:00", null],
  ["a date of another kind", "2026-01-01T00:02:00Z", null],
  ["a word", "soon", null],
  ["nothing", "", null],
])("%s: %s", (_what, value, waitMs) => {
  // Neither form of a date is local time.
  vi.stubEnv("TZ", "America/New_York");
  expect(parseRetryAfter({ "retry-after": value, date: DATE }, HOUR_MS)).toBe(waitMs);
});

test.each([DATE, "Thursday, 01-Jan-26 00:00:00 GMT", "Thu Jan  1 00:00:00 2026"])(
  "a date is read against the peer's own clock: %s",
  (date) => {
    vi.stubEnv("TZ", "America/New_York");
    expect(parseRetryAfter({ "retry-after": "Thu, 01 Jan 2026 00:02:00 GMT", date }, HOUR_MS)).toBe(120_000);
  },
);

test("no header asks for nothing", () => {
  expect(parseRetryAfter({ date: DATE }, HOUR_MS)).toBeNull();
});
