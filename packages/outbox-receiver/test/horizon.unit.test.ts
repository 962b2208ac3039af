import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertResultTtlCoversHorizon, type RetryHorizonSettings } from "../src/horizon.ts";

const DEFAULTS: RetryHorizonSettings = {
  resultTtlSeconds: 86_400,
  dispatcher: { maxRetries: 6, backoffMinutes: [1, 2, 4, 8, 16, 32], leaseMs: 300_000 },
  queue: { attempts: 8, backoffMs: 5_000 },
  marginSeconds: 600,
};
// 63 min of dispatcher backoff, 7 leases of 300 s, 7 queue waits of 5 s * (1 + 2 + … + 64), the margin.
const DEFAULT_HORIZON = 63 * 60 + 7 * 300 + 5 * 127 + 600;

describe("assertResultTtlCoversHorizon", () => {
  it("accepts the defaults and returns the sum", () => {
    expect(assertResultTtlCoversHorizon(DEFAULTS)).toEqual({ horizonSeconds: DEFAULT_HORIZON });
  });

  it("needs more than the sum, not as much", () => {
    expect(() => assertResultTtlCoversHorizon({ ...DEFAULTS, resultTtlSeconds: DEFAULT_HORIZON })).toThrow(/7115 s against 7115 s/);
    expect(assertResultTtlCoversHorizon({ ...DEFAULTS, resultTtlSeconds: DEFAULT_HORIZON + 1 }).horizonSeconds).toBe(DEFAULT_HORIZON);
  });

  it("prints the whole sum when it fails", () => {
    const run = () => assertResultTtlCoversHorizon({ ...DEFAULTS, resultTtlSeconds: 3600 });
    expect(run).toThrow(
      expect.objectContaining({ code: "RECEIVER.TTL_TOO_SHORT", facts: expect.objectContaining({ horizonSeconds: DEFAULT_HORIZON }) }),
    );
    expect(run).toThrow(
      [
        "expected the result TTL to exceed the retry horizon, got 3600 s against 7115 s:",
        "  dispatcher backoff        3780 s  = 1 + 2 + 4 + 8 + 16 + 32 min",
        "  dispatcher leases         2100 s  = 7 tries x 300000 ms",
        "  queue backoff              635 s  = 5000 + 10000 + 20000 + 40000 + 80000 + 160000 + 320000 ms",
        "  margin                     600 s",
        "  total                     7115 s",
      ].join("\n"),
    );
  });

  it("repeats the last backoff when there are more retries than entries, and uses fewer when there are fewer", () => {
    const horizon = (maxRetries: number): number =>
      assertResultTtlCoversHorizon({ ...DEFAULTS, dispatcher: { ...DEFAULTS.dispatcher, leaseMs: 0, maxRetries } }).horizonSeconds;
    expect(horizon(8) - horizon(6)).toBe(2 * 32 * 60);
    expect(horizon(1) - horizon(0)).toBe(60);
  });

  it("refuses a TTL that is no number", () => {
    expect(() => assertResultTtlCoversHorizon({ ...DEFAULTS, resultTtlSeconds: Number.NaN })).toThrow(/retry horizon/);
  });

  it("never shrinks when a setting grows", () => {
    const settings = fc.record({
      maxRetries: fc.nat(12),
      leaseMs: fc.nat(600_000),
      attempts: fc.integer({ min: 1, max: 12 }),
      backoffMs: fc.nat(60_000),
      marginSeconds: fc.nat(7200),
    });
    const horizon = (s: { maxRetries: number; leaseMs: number; attempts: number; backoffMs: number; marginSeconds: number }): number =>
      assertResultTtlCoversHorizon({
        resultTtlSeconds: Number.MAX_SAFE_INTEGER,
        dispatcher: { maxRetries: s.maxRetries, leaseMs: s.leaseMs, backoffMinutes: [1, 2, 4, 8, 16, 32] },
        queue: { attempts: s.attempts, backoffMs: s.backoffMs },
        marginSeconds: s.marginSeconds,
      }).horizonSeconds;
    fc.assert(
      fc.property(settings, fc.constantFrom("maxRetries", "leaseMs", "attempts", "backoffMs", "marginSeconds"), (s, grown) => {
        expect(horizon({ ...s, [grown]: s[grown] + 1 })).toBeGreaterThanOrEqual(horizon(s));
      }),
    );
  });
});
