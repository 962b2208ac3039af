import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideMode, type Voter } from "../../src/switch/decide-mode.ts";

const voter = (overrides: Partial<Voter> = {}): Voter => ({
  app: "worker-general",
  host: "a",
  pid: 1,
  vote: "true",
  blockers: [],
  ...overrides,
});

describe("the mode that live processes ask for", () => {
  test("is pull when every one votes true and nothing blocks any", () => {
    expect(decideMode([voter(), voter({ pid: 2 })], "batch")).toEqual({ desired: "pull", reasons: [] });
  });

  test.each([
    [voter({ pid: 2, vote: "false" }), "OUTBOX_PULL_WORKER=false (worker-general a:2)"],
    [voter({ pid: 2, vote: "shadow" }), "OUTBOX_PULL_WORKER=shadow (worker-general a:2)"],
    [voter({ pid: 2, blockers: ["no proof: test it"] }), "no proof: test it (worker-general a:2)"],
    [voter({ pid: 2, blockers: null }), "has not said whether it can run pull workers (worker-general a:2)"],
  ])("is batch when one of them objects, and the reason names it", (objector, reason) => {
    expect(decideMode([voter(), objector, voter({ pid: 3 })], "pull")).toEqual({ desired: "batch", reasons: [reason] });
  });

  test("names every reason once, with the processes that give it", () => {
    const { reasons } = decideMode(
      [1, 2, 3, 4, 5].map((pid) => voter({ pid, vote: "false", blockers: ["red"] })),
      "batch",
    );
    expect(reasons).toEqual([
      "OUTBOX_PULL_WORKER=false (worker-general a:1, worker-general a:2, worker-general a:3 and 2 more)",
      "red (worker-general a:1, worker-general a:2, worker-general a:3 and 2 more)",
    ]);
  });

  test("stays what it is while nobody is registered", () => {
    for (const mode of ["batch", "pull"] as const)
      expect(decideMode([], mode)).toEqual({ desired: mode, reasons: ["no live process drains"] });
  });

  test("is the same in whatever order the processes are read, and whatever it was before", () => {
    const voters = fc.array(
      fc.record({
        app: fc.constant("w"),
        host: fc.constantFrom("a", "b"),
        pid: fc.nat(9),
        vote: fc.constantFrom("false" as const, "shadow" as const, "true" as const),
        blockers: fc.option(fc.array(fc.constantFrom("x", "y"), { maxLength: 2 })),
      }),
      { minLength: 1, maxLength: 5 },
    );
    fc.assert(
      fc.property(voters, (all) => {
        const forwards = decideMode(all, "batch");
        expect(decideMode(all.toReversed(), "pull").desired).toBe(forwards.desired);
        expect(forwards.desired === "pull").toBe(all.every(({ vote, blockers }) => vote === "true" && blockers?.length === 0));
      }),
    );
  });
});
