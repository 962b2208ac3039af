import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertJobId, jobIdFor, jobIdOf, jobIdProblem } from "./job-id.ts";

const key = fc.oneof(
  fc.uuid(),
  fc.bigInt({ min: 0n, max: 2n ** 70n }),
  fc.maxSafeNat(),
  fc.stringMatching(/^[0-9]{1,20}$/),
  fc.stringMatching(/^[\w.~-]{1,60}$/),
);

describe("job ids", () => {
  it("are the event's id with a prefix, and the generation from the first requeue on", () => {
    expect(jobIdFor("0198b0f4-7d2c-7cc3-98c4-dc0c0c07398f")).toBe("outbox-0198b0f4-7d2c-7cc3-98c4-dc0c0c07398f");
    expect(jobIdFor("0198b0f4-7d2c-7cc3-98c4-dc0c0c07398f", 3)).toBe("outbox-0198b0f4-7d2c-7cc3-98c4-dc0c0c07398f-3");
    expect(jobIdFor(42)).toBe("outbox-42");
    expect(jobIdFor(12345678901234567890n, 1)).toBe("outbox-12345678901234567890-1");
    expect(jobIdFor("007")).toBe("outbox-007");
    expect(jobIdOf("email", "abc", 2)).toBe("email-abc-2");
  });

  it("never hold a colon and never are digits only, for any event id", () => {
    fc.assert(
      fc.property(key, fc.nat({ max: 1000 }), (eventId, generation) => {
        const id = jobIdFor(eventId, generation);
        expect(id).not.toContain(":");
        expect(id).not.toMatch(/^\d+$/);
        expect(jobIdProblem(id)).toBeNull();
      }),
    );
  });

  it("differ for any two generations of an event with a UUID", () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), fc.nat(), fc.nat(), (a, b, m, n) => {
        expect(jobIdFor(a, m) === jobIdFor(b, n)).toBe(a === b && m === n);
      }),
    );
  });

  it.each([
    ["a colon", () => jobIdFor("a:b")],
    ["nothing", () => jobIdFor("")],
    ["white space", () => jobIdFor("a b")],
    ["a control character", () => jobIdFor("a\u0000b")],
    ["too many characters", () => jobIdFor("x".repeat(300))],
    ["an unsafe number", () => jobIdFor(2 ** 60)],
    ["a negative generation", () => jobIdFor("a", -1)],
    ["half a generation", () => jobIdFor("a", 0.5)],
    ["an odd kind", () => jobIdOf("Out box", "a")],
    ["the name of one of the queue's own keys", () => jobIdOf("stalled", "check")],
    ["digits only", () => assertJobId("123")],
    ["another type", () => assertJobId(12)],
  ])("are refused when made of %s", (_what, make) => {
    expect(make).toThrow(expect.objectContaining({ code: "QUEUE.JOB_ID" }) as Error);
  });
});
