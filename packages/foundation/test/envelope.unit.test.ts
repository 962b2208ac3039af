import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jobEnvelopeSchema, type JobEnvelope } from "../src/envelope.ts";
import { QUEUE_GROUPS, QUEUE_NAMES, QUEUES } from "../src/queues.ts";

const envelope: JobEnvelope = {
  v: 1,
  outboxEventId: "019adf00-0000-7000-8000-000000000000",
  tenantId: "t1",
  type: "mail.message.send",
  version: 1,
  position: "9223372036854775807",
  generation: 0,
  effectEpoch: 0,
  payload: { to: "a@x.test" },
  correlationId: null,
  causationId: null,
  depth: 0,
  traceparent: null,
  tracestate: null,
  createdAt: "2026-01-01T00:00:00.000Z",
};

describe("jobEnvelopeSchema", () => {
  test("an envelope comes back from a job's JSON as it was, whatever its payload", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(), fc.boolean(), (payload, generation, byReference) => {
        const { payload: _payload, ...rest } = envelope;
        const written = byReference ? { ...rest, generation } : { ...rest, generation, payload: payload as JobEnvelope["payload"] };
        const json = JSON.stringify(written);
        expect(jobEnvelopeSchema.parse(JSON.parse(json))).toStrictEqual(JSON.parse(json));
      }),
    );
  });

  test.each(["", "a/b", "a:b", "a b", "x".repeat(101)])("a target that could not stand in a key or a job id is refused: %j", (target) => {
    expect(jobEnvelopeSchema.safeParse({ ...envelope, target }).success).toBe(false);
    expect(jobEnvelopeSchema.parse({ ...envelope, target: "0190a0a0-0000-7000-8000-000000000001" }).target).toMatch(/^0190/);
  });

  test("a payload by reference is absent, not null: null is a payload", () => {
    const { payload: _payload, ...byReference } = envelope;
    expect("payload" in jobEnvelopeSchema.parse(byReference)).toBe(false);
    expect(jobEnvelopeSchema.parse({ ...envelope, payload: null }).payload).toBeNull();
  });

  test.each<[string, object]>([
    ["another version", { v: 2 }],
    ["an unknown field", { extra: 1 }],
    ["no event id", { outboxEventId: "" }],
    ["a position that is a number", { position: 5 }],
    ["a negative position", { position: "-1" }],
    ["a negative generation", { generation: -1 }],
    ["half an epoch", { effectEpoch: 0.5 }],
    ["a depth that is text", { depth: "0" }],
    ["a time without a zone", { createdAt: "2026-01-01T00:00:00" }],
    ["a correlation that is missing", { correlationId: undefined }],
  ])("refuses %s", (_name, change) => {
    expect(jobEnvelopeSchema.safeParse({ ...envelope, ...change }).success).toBe(false);
  });
});

test("every queue has a group that some worker app serves, and a name BullMQ takes", () => {
  for (const name of QUEUE_NAMES) {
    expect(QUEUE_GROUPS, name).toContain(QUEUES[name]);
    expect(name).toMatch(/^[a-z-]+(?:\.[a-z-]+)+$/);
  }
});
