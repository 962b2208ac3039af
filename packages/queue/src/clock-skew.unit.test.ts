import { describe, expect, it } from "vitest";
import { assertClockSkew, measureClockSkew } from "./clock-skew.ts";
import type { QueueLog } from "./log.ts";

function noting(): { log: QueueLog; warnings: unknown[] } {
  const warnings: unknown[] = [];
  const none = (): void => undefined;
  return { warnings, log: { debug: none, info: none, error: none, warn: (facts: unknown) => void warnings.push(facts) } as QueueLog };
}

const backend = (kind: "redis" | "postgres", skewMs: number) => ({ kind, clockSkewMs: async () => skewMs });

describe("clock skew", () => {
  it("is the median of five readings, so that slow ones do not count", async () => {
    const offsets = [-9_000_000, 3000, 3000, 9_000_000, 3000];
    const skewMs = await measureClockSkew(async () => Date.now() - (offsets.shift() ?? 0));
    expect(skewMs).toBeGreaterThan(2900);
    expect(skewMs).toBeLessThan(3100);
    expect(offsets).toEqual([]);
  });

  it.each([600_000, -600_000, 2001])("of %i ms is refused on postgres and told on redis", async (skewMs) => {
    const { log, warnings } = noting();
    await expect(assertClockSkew(backend("postgres", skewMs), log)).rejects.toMatchObject({ code: "QUEUE.CLOCK_SKEW", facts: { skewMs } });
    expect(warnings).toEqual([]);
    await expect(assertClockSkew(backend("redis", skewMs), log)).resolves.toBe(skewMs);
    expect(warnings).toEqual([expect.objectContaining({ skewMs, limitMs: 2000 })]);
  });

  it.each([0, 2000, -2000])("of %i ms passes in silence", async (skewMs) => {
    const { log, warnings } = noting();
    for (const kind of ["redis", "postgres"] as const) await expect(assertClockSkew(backend(kind, skewMs), log)).resolves.toBe(skewMs);
    expect(warnings).toEqual([]);
  });
});
