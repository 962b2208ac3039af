import { isCodedError } from "@toolctrl/foundation/errors";
import { expect, test } from "vitest";
import { checkOutboxEvent } from "../src/check-outbox-event.ts";
import type { OutboxEventInput } from "../src/outbox.ts";

const event = (extra: Record<string, unknown>): OutboxEventInput => ({ tenantId: "t", type: "shop.order.place", payload: {}, ...extra });

function refusal(input: OutboxEventInput): { code: string; facts: Readonly<Record<string, unknown>>; message: string } {
  try {
    checkOutboxEvent(input);
  } catch (error) {
    if (isCodedError(error)) return error;
    throw error;
  }
  throw new Error("expected a refusal, got none");
}

const cycle: Record<string, unknown> = {};
cycle["self"] = cycle;
const nested = (levels: number): unknown => (levels === 0 ? 1 : { n: nested(levels - 1) });
const sparse: unknown[] = [1];
sparse[2] = 3;

test.each([
  ["tenantId", event({ tenantId: undefined })],
  ["tenantId", event({ tenantId: "" })],
  ["tenantId", event({ tenantId: "x".repeat(201) })],
  ["tenantId", event({ tenantId: 7 })],
  ["tenantId", event({ tenantId: "a\u0000b" })],
  ["dispatchKey", event({ dispatchKey: "" })],
  ["dispatchKey", event({ dispatchKey: null })],
  ["dispatchKey", event({ dispatchKey: "k".repeat(256) })],
  ["dispatchKey", event({ dispatchKey: "\uD800" })],
  ["recordKey", event({ recordKey: "" })],
  ["recordKey", event({ recordKey: 1 })],
  ["correlationId", event({ correlationId: "\u0000" })],
  ["causationId", event({ causationId: 3 })],
  ["depth", event({ depth: -1 })],
  ["depth", event({ depth: 1.5 })],
  ["depth", event({ depth: 1_001 })],
  ["depth", event({ depth: "1" })],
  ["scheduledAt", event({ scheduledAt: "2030-01-01" })],
  ["scheduledAt", event({ scheduledAt: new Date(Number.NaN) })],
  ["scheduledAt", event({ scheduledAt: new Date(8.64e15) })],
  ["scheduledAt", event({ scheduledAt: new Date(-1) })],
  ["scheduledAt", event({ recordKey: "Lead/1", scheduledAt: new Date(Date.now() + 60_000) })],
  ["dispatchkey", event({ dispatchkey: "misspelt" })],
])("a bad %s is refused by name", (field, input) => {
  expect(refusal(input)).toMatchObject({ code: "PUBLISH.ARGUMENT", facts: { field } });
});

test.each([
  ["payload.id", { id: 1n }],
  ["payload.x", { x: Number.NaN }],
  ["payload.x", { x: Infinity }],
  ["payload.m", { m: new Map() }],
  ["payload.f", { f() {} }],
  ["payload.at", { at: new Date(0) }],
  ["payload.self", cycle],
  ["payload.list[1]", { list: sparse }],
  ["payload.s", { s: "\uD800" }],
  ["payload", []],
  ["payload", "text"],
  ["payload", null],
  ["payload", new Date(0)],
])("%s of a payload that JSON would change is refused with its path", (path, payload) => {
  expect(refusal(event({ payload }))).toMatchObject({ code: "PUBLISH.PAYLOAD_NOT_JSON", facts: { path } });
});

test("a payload 5,000 levels deep is refused without exhausting the stack, also for a type with a schema", () => {
  expect(refusal(event({ payload: nested(5_000) }))).toMatchObject({ code: "PUBLISH.PAYLOAD_NOT_JSON" });
  const mail = event({ type: "mail.message.send", payload: { to: "a@b.example", subject: "s", text: "t", data: nested(5_000) } });
  expect(refusal(mail)).toMatchObject({ code: "PUBLISH.PAYLOAD_NOT_JSON" });
});

test("an event type that is not lowercase and dotted is refused", () => {
  for (const type of ["", "LEAD.created.x", "lead", "lead.created", "lead..x", 5]) {
    expect(refusal(event({ type }))).toMatchObject({ code: "PUBLISH.EVENT_TYPE" });
  }
});

test("a payload above 1 MiB is refused", () => {
  expect(refusal(event({ payload: { text: "x".repeat(1_048_576) } }))).toMatchObject({ code: "PUBLISH.PAYLOAD_TOO_LARGE" });
});

test("a known type's payload is checked by its schema, and stored as the schema gives it", () => {
  const bad = event({ type: "mail.message.send", payload: { to: "a@b.example" } });
  expect(refusal(bad)).toMatchObject({ code: "PUBLISH.PAYLOAD_SCHEMA", facts: { paths: expect.arrayContaining(["subject"]) as unknown } });
  const good = checkOutboxEvent(event({ type: "mail.message.send", payload: { to: "a@b.example", subject: "s", text: "t" } }));
  expect(JSON.parse(good.payload)).toEqual({ to: "a@b.example", subject: "s", text: "t", data: {} });
});

test("a keyed event takes the database's time, never a publisher's", () => {
  expect(checkOutboxEvent(event({ recordKey: "Lead/1", scheduledAt: new Date(0) })).scheduledAt).toBeNull();
});

test("keys of the longest allowed length in four-byte characters pass", () => {
  const key = "\u{1F600}".repeat(127);
  expect(checkOutboxEvent(event({ dispatchKey: key, tenantId: "\u{1F600}".repeat(100) })).dispatchKey).toBe(key);
});

test("a malformed trace context is left out", () => {
  for (const traceparent of [
    "",
    "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
    "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
  ]) {
    expect(checkOutboxEvent(event({ traceparent, tracestate: "a=b" }))).toMatchObject({ traceparent: null, tracestate: null });
  }
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  expect(checkOutboxEvent(event({ traceparent, tracestate: "\u0000" }))).toMatchObject({ traceparent, tracestate: null });
});
