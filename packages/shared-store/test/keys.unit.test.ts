import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { idempotencyKey, type IdempotencyKeyParts } from "../src/keys.ts";

const PARTS: IdempotencyKeyParts = { prefix: "outbox", tenantId: "acme", consumer: "mail-render", eventId: "0198-7", effectEpoch: 0 };

const part = fc.oneof(
  fc.string({ unit: "binary", minLength: 1, maxLength: 8 }),
  // The characters that the layout is made of, so that a missing escape shows soon.
  fc.string({ unit: fc.constantFrom(":", "%", "{", "}", "3", "A", "\u0000", "\uD800", "\uDC00", "\uFFFD"), minLength: 1, maxLength: 6 }),
);
const parts = fc.record({
  prefix: fc.constantFrom("outbox", "outbox:idem", "{outbox}", "{outbox}:idem:a"),
  tenantId: part,
  consumer: part,
  eventId: part,
  effectEpoch: fc.nat({ max: 12 }),
});

describe("idempotencyKey", () => {
  it("has the documented layout, with the prefix as it is", () => {
    expect(idempotencyKey(PARTS)).toBe("outbox:idem:acme:mail-render:0198-7:0");
    expect(idempotencyKey({ ...PARTS, prefix: "{toolctrl}", effectEpoch: 3 })).toBe("{toolctrl}:idem:acme:mail-render:0198-7:3");
  });

  it("gives two tuples the same bytes only when they are the same", () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        const same = Buffer.from(idempotencyKey(a)).equals(Buffer.from(idempotencyKey(b)));
        expect(same).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 2_000 },
    );
  });

  it("keeps apart what plain joining would not", () => {
    expect(idempotencyKey({ ...PARTS, tenantId: "a:b", consumer: "c" })).not.toBe(
      idempotencyKey({ ...PARTS, tenantId: "a", consumer: "b:c" }),
    );
  });

  it("lets no part bring a hash tag or a character that PostgreSQL refuses", () => {
    expect(idempotencyKey({ ...PARTS, tenantId: "{x}\u0000\uD800" })).toBe("outbox:idem:%007Bx%007D%0000%D800:mail-render:0198-7:0");
  });

  it.each([
    { prefix: "" },
    { tenantId: "" },
    { consumer: "" },
    { eventId: "" },
    { effectEpoch: -1 },
    { effectEpoch: 0.5 },
    { eventId: "x".repeat(1024) },
  ])("refuses %j", (wrong) => {
    expect(() => idempotencyKey({ ...PARTS, ...wrong })).toThrow(expect.objectContaining({ code: "STORE.ARGUMENT" }));
  });
});
