import { CodedError } from "./errors.ts";

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };
export type JsonObject = { [key: string]: JsonValue };

const HIDDEN_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Whether a key leads from data to the machinery behind it. Expressions read such a one as absent, wherever it stands, so nothing that they are to
 * read may be called so.
 */
export function isHiddenKey(key: string): boolean {
  return HIDDEN_KEYS.has(key);
}

/** A payload may nest this deep; deeper ones are nearly always cycles or attacks. */
export const MAX_PAYLOAD_DEPTH = 64;
/** Above this many bytes of JSON publishing refuses. */
export const MAX_PAYLOAD_BYTES = 1024 * 1024;
/** Above this many bytes of JSON a job carries the event's id and its consumer reads the row. */
export const MAX_INLINE_PAYLOAD_BYTES = 64 * 1024;

/**
 * Checks that a payload is strict JSON and writes it down.
 *
 * What JSON would change silently is refused with its path (BigInt, NaN, Date, Decimal, Map, functions, class instances, cycles),
 * and so is what PostgreSQL's jsonb cannot hold (U+0000, lone surrogates). Two things are normalised, as JSON knows no difference:
 * a property that is `undefined` is left out, and `-0` becomes `0`.
 *
 * @returns the JSON text and its size in bytes of UTF-8.
 * @throws CodedError `PUBLISH.PAYLOAD_NOT_JSON`, `PUBLISH.PAYLOAD_TOO_LARGE`
 */
export function encodeStrictJson(payload: unknown): { json: string; bytes: number } {
  checkValue(payload, "payload", 0, new Set());
  const json = JSON.stringify(payload);
  const bytes = Buffer.byteLength(json, "utf8");
  if (bytes > MAX_PAYLOAD_BYTES) {
    throw new CodedError("PUBLISH.PAYLOAD_TOO_LARGE", `expected a payload of at most ${MAX_PAYLOAD_BYTES} bytes, got ${bytes}`, {
      facts: { bytes, limit: MAX_PAYLOAD_BYTES },
    });
  }
  return { json, bytes };
}

function checkValue(value: unknown, path: string, depth: number, open: Set<object>): void {
  switch (typeof value) {
    case "boolean":
      return;
    case "string":
      return checkString(value, path);
    case "number":
      if (!Number.isFinite(value)) refuse(path, `a finite number`, String(value));
      return;
    case "object":
      if (value !== null) checkContainer(value, path, depth, open);
      return;
    default:
      refuse(path, "a JSON value", typeof value);
  }
}

function checkContainer(value: object, path: string, depth: number, open: Set<object>): void {
  if (depth >= MAX_PAYLOAD_DEPTH) refuse(path, `at most ${MAX_PAYLOAD_DEPTH} levels of nesting`, "more");
  if (open.has(value)) refuse(path, "a tree", "a cycle");
  open.add(value);
  if (Array.isArray(value)) {
    // An index loop, not forEach: a hole must be seen.
    for (let index = 0; index < value.length; index += 1) checkValue(value[index], `${path}[${index}]`, depth + 1, open);
    if (Object.keys(value).length !== value.length) refuse(path, "an array of elements alone", "one with properties of its own");
  } else {
    checkObject(value, path, depth, open);
  }
  // Even a hidden or inherited one decides what is written.
  if ("toJSON" in value && typeof value.toJSON === "function") refuse(path, "plain data", "an object with a toJSON function");
  open.delete(value);
}

function checkObject(value: object, path: string, depth: number, open: Set<object>): void {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm has a prototype without a prototype of its own.
  const plain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!plain) refuse(path, "a plain object", value.constructor?.name ?? "a class instance");
  if (Object.getOwnPropertySymbols(value).length > 0) refuse(path, "string keys", "a symbol key");
  for (const [key, member] of Object.entries(value)) {
    const memberPath = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
    checkString(key, `${memberPath} (key)`);
    if (member !== undefined) checkValue(member, memberPath, depth + 1, open);
  }
}

function checkString(value: string, path: string): void {
  if (value.includes("\u0000")) refuse(path, "a string without U+0000", "one with it");
  if (!value.isWellFormed()) refuse(path, "well-formed Unicode", "a lone surrogate");
}

function refuse(path: string, expected: string, got: string): never {
  throw new CodedError("PUBLISH.PAYLOAD_NOT_JSON", `expected ${path} to be ${expected}, got ${got}`, { facts: { path, expected, got } });
}
