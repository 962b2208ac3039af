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
 * @returns the JSON text, its size in bytes of UTF-8, and the value that a reader gets.
 * @throws CodedError `PUBLISH.PAYLOAD_NOT_JSON`, `PUBLISH.PAYLOAD_TOO_LARGE`
 */
export function encodeStrictJson(payload: unknown): { json: string; bytes: number; value: JsonValue } {
  // A copy is written, as a getter or a proxy could answer something else than what was checked.
  const value = copyValue(payload, "payload", 0, { open: new Set(), bytes: 0 });
  const json = JSON.stringify(value);
  const bytes = Buffer.byteLength(json, "utf8");
  if (bytes > MAX_PAYLOAD_BYTES) throw tooLarge(bytes, "");
  return { json, bytes, value };
}

interface Walk {
  /** The containers around a value. */
  readonly open: Set<object>;
  /** What the JSON so far has at least: an object in many places is written in each, and 64 levels of pairs would never end. */
  bytes: number;
}

function copyValue(value: unknown, path: string, depth: number, walk: Walk): JsonValue {
  spend(walk, 1);
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      spend(walk, value.length);
      checkString(value, path);
      return value;
    case "number":
      if (!Number.isFinite(value)) refuse(path, `a finite number`, String(value));
      return value === 0 ? 0 : value;
    case "object":
      return value === null ? null : copyContainer(value, path, depth, walk);
    default:
      return refuse(path, "a JSON value", typeof value);
  }
}

function copyContainer(value: object, path: string, depth: number, walk: Walk): JsonValue {
  if (depth >= MAX_PAYLOAD_DEPTH) refuse(path, `at most ${MAX_PAYLOAD_DEPTH} levels of nesting`, "more");
  if (walk.open.has(value)) refuse(path, "a tree", "a cycle");
  if (Object.getOwnPropertySymbols(value).length > 0) refuse(path, "string keys", "a symbol key");
  walk.open.add(value);
  const copy = Array.isArray(value) ? copyArray(value, path, depth, walk) : copyObject(value, path, depth, walk);
  // Even a hidden or inherited one decides what is written.
  if ("toJSON" in value && typeof value.toJSON === "function") refuse(path, "plain data", "an object with a toJSON function");
  walk.open.delete(value);
  return copy;
}

function copyArray(value: readonly unknown[], path: string, depth: number, walk: Walk): JsonValue[] {
  const copy: JsonValue[] = [];
  // An index loop, not map: a hole must be seen.
  for (let index = 0; index < value.length; index += 1) copy.push(copyValue(value[index], `${path}[${index}]`, depth + 1, walk));
  if (Object.keys(value).length !== copy.length) refuse(path, "an array of elements alone", "one with properties of its own");
  return copy;
}

function copyObject(value: object, path: string, depth: number, walk: Walk): JsonObject {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm has a prototype without a prototype of its own.
  const plain = prototype === null || Object.getPrototypeOf(prototype) === null;
  if (!plain) refuse(path, "a plain object", value.constructor?.name ?? "a class instance");
  // It looks plain, and is written without quotes and unchecked.
  if ((JSON as JSON & { isRawJSON(value: unknown): boolean }).isRawJSON(value)) refuse(path, "plain data", "raw JSON text");
  const members: Array<[string, JsonValue]> = [];
  for (const [key, member] of Object.entries(value)) {
    const memberPath = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
    checkString(key, `${memberPath} (key)`);
    if (member === undefined) continue;
    spend(walk, key.length);
    members.push([key, copyValue(member, memberPath, depth + 1, walk)]);
  }
  return Object.fromEntries(members);
}

function spend(walk: Walk, bytes: number): void {
  walk.bytes += bytes;
  if (walk.bytes > MAX_PAYLOAD_BYTES) throw tooLarge(walk.bytes, "at least ");
}

function tooLarge(bytes: number, precision: "" | "at least "): CodedError {
  return new CodedError("PUBLISH.PAYLOAD_TOO_LARGE", `expected a payload of at most ${MAX_PAYLOAD_BYTES} bytes, got ${precision}${bytes}`, {
    facts: { bytes, limit: MAX_PAYLOAD_BYTES },
  });
}

function checkString(value: string, path: string): void {
  if (value.includes("\u0000")) refuse(path, "a string without U+0000", "one with it");
  if (!value.isWellFormed()) refuse(path, "well-formed Unicode", "a lone surrogate");
}

function refuse(path: string, expected: string, got: string): never {
  throw new CodedError("PUBLISH.PAYLOAD_NOT_JSON", `expected ${path} to be ${expected}, got ${got}`, { facts: { path, expected, got } });
}
