import { MAX_DEPTH } from "@toolctrl/foundation/envelope";
import { CodedError } from "@toolctrl/foundation/errors";
import { assertEventType } from "@toolctrl/foundation/event-type";
import { checkEventPayload, findOutboxEvent } from "@toolctrl/foundation/events";
import { encodeStrictJson } from "@toolctrl/foundation/json";
import { recordKeyOf } from "@toolctrl/foundation/record-key";
import { activeTraceContext } from "@toolctrl/tracing/spans";
import type { EventCause, OutboxEventInput } from "./outbox-event-input.ts";

const MAX_NAME_LENGTH = 200;
// Two keys of four-byte characters must fit an index entry (2,704 bytes): a longer one would fail inside the transaction.
const MAX_KEY_LENGTH = 255;
const MAX_TRACESTATE_LENGTH = 512;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
const FIELDS = new Set([
  "tenantId",
  "type",
  "payload",
  "dispatchKey",
  "recordKey",
  "scheduledAt",
  "correlationId",
  "causationId",
  "depth",
  "traceparent",
  "tracestate",
]);

/** An event as the INSERT takes it. `payload` is JSON text, `scheduledAt` ISO 8601 in UTC. */
export interface CheckedEvent {
  readonly tenantId: string;
  readonly eventType: string;
  readonly version: number;
  readonly payload: string;
  readonly bytes: number;
  readonly dispatchKey: string | null;
  /** Null for an event of no record: its own id is its key then. */
  readonly recordKey: string | null;
  /** Whether the payload alone gives the key, so that the table's trigger derives the same. */
  readonly derivable: boolean;
  readonly scheduledAt: string | null;
  readonly correlationId: string | null;
  readonly causationId: string | null;
  readonly depth: number;
  readonly traceparent: string | null;
  readonly tracestate: string | null;
}

/**
 * Checks everything of an event that can be checked without the database, so that no SQL of a refused event poisons the caller's
 * transaction.
 *
 * @param cause what led to the event, where it says nothing of its own
 * @throws CodedError `PUBLISH.ARGUMENT`, `PUBLISH.EVENT_TYPE`, `PUBLISH.PAYLOAD_NOT_JSON`, `PUBLISH.PAYLOAD_TOO_LARGE`,
 * `PUBLISH.PAYLOAD_SCHEMA`
 */
export function checkOutboxEvent(event: OutboxEventInput, cause: EventCause = {}): CheckedEvent {
  checkShape(event);
  assertEventType(event.type);
  const explicitKey = text(event.recordKey, "recordKey", MAX_KEY_LENGTH);
  const { recordKey: derivedKey, ...stored } = payload(event);
  const recordKey = agreedKey(explicitKey, derivedKey);
  const { correlationId = cause.correlationId, causationId = cause.causationId, depth = cause.depth } = event;
  return {
    tenantId: required(event.tenantId, "tenantId"),
    eventType: event.type,
    ...stored,
    dispatchKey: text(event.dispatchKey, "dispatchKey", MAX_KEY_LENGTH),
    recordKey,
    derivable: derivedKey !== null,
    scheduledAt: schedule(event.scheduledAt, recordKey !== null),
    correlationId: text(correlationId, "correlationId", MAX_NAME_LENGTH),
    causationId: text(causationId, "causationId", MAX_NAME_LENGTH),
    depth: checkDepth(depth),
    ...traceContext(event),
  };
}

function checkShape(event: unknown): void {
  if (typeof event !== "object" || event === null) refuse("event", "an object", event === null ? "null" : typeof event);
  // A misspelt `dispatchkey` would publish without idempotency.
  for (const field of Object.keys(event)) {
    if (!FIELDS.has(field)) refuse(field, `one of ${[...FIELDS].join(", ")}`, "an unknown field");
  }
}

// The strict check comes first: a schema may recurse into a cycle, or drop what JSON cannot hold.
function payload(event: OutboxEventInput): { version: number; payload: string; bytes: number; recordKey: string | null } {
  const { type, payload: given } = event as { type: string; payload: unknown };
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    const got = given === null ? "null" : Array.isArray(given) ? "an array" : typeof given;
    throw new CodedError("PUBLISH.PAYLOAD_NOT_JSON", `expected payload to be a JSON object, got ${got}`, {
      facts: { path: "payload", got },
    });
  }
  const plain = encodeStrictJson(given);
  if (findOutboxEvent(type) === undefined) {
    return { version: 1, payload: plain.json, bytes: plain.bytes, recordKey: recordKeyOf(plain.value) };
  }
  const checked = checkEventPayload(type, given);
  const encoded = encodeStrictJson(checked.payload);
  return { version: checked.version, payload: encoded.json, bytes: encoded.bytes, recordKey: recordKeyOf(encoded.value) };
}

// Old publishers leave the key to the table's trigger, which knows the payload alone: another key would split the record's line.
function agreedKey(explicit: string | null, derived: string | null): string | null {
  if (explicit !== null && derived !== null && explicit !== derived) {
    return refuse("recordKey", `absent or ${JSON.stringify(derived)}, as the payload's object and recordId give`, JSON.stringify(explicit));
  }
  return explicit ?? derived;
}

// An event that holds its record's line must be due at once, or the record stands still until then.
function schedule(at: unknown, keyed: boolean): string | null {
  if (at === undefined) return null;
  if (!(at instanceof Date) || Number.isNaN(at.getTime()))
    refuse("scheduledAt", "a valid Date", at instanceof Date ? "an invalid one" : typeof at);
  const year = at.getUTCFullYear();
  if (year < 1970 || year > 9999) refuse("scheduledAt", "a Date between the years 1970 and 9999", String(year));
  if (!keyed) return at.toISOString();
  if (at.getTime() > Date.now()) refuse("scheduledAt", "absent or past where the event stands in the line of a record", at.toISOString());
  return null;
}

function checkDepth(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MAX_DEPTH) return value;
  return refuse("depth", `an integer from 0 to ${MAX_DEPTH}`, typeof value === "number" ? String(value) : typeof value);
}

function traceContext(event: OutboxEventInput): { traceparent: string | null; tracestate: string | null } {
  // What is active where it is published, unless the caller says what it continues.
  const { traceparent, tracestate } = event.traceparent === undefined ? activeTraceContext() : event;
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return { traceparent: null, tracestate: null };
  const usable = typeof tracestate === "string" && tracestate.length <= MAX_TRACESTATE_LENGTH && /^[\x20-\x7e]+$/.test(tracestate);
  return { traceparent, tracestate: usable ? tracestate : null };
}

function required(value: unknown, field: string): string {
  return text(value, field, MAX_NAME_LENGTH) ?? refuse(field, "a text", "nothing");
}

function text(value: unknown, field: string, max: number): string | null {
  if (value === undefined) return null;
  if (typeof value !== "string") return refuse(field, "a text", value === null ? "null" : typeof value);
  if (value === "" || value.length > max) return refuse(field, `a text of 1 to ${max} characters`, `${value.length}`);
  if (value.includes("\u0000") || !value.isWellFormed()) return refuse(field, "well-formed Unicode without U+0000", "something else");
  return value;
}

function refuse(field: string, expected: string, got: string): never {
  throw new CodedError("PUBLISH.ARGUMENT", `expected ${field} to be ${expected}, got ${got}`, { facts: { field, expected, got } });
}
