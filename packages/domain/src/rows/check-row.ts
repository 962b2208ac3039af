import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import { encodeStrictJson, type JsonObject } from "@toolctrl/foundation/json";

// A table's name is a segment of its events' types and the object of their record keys.
const TABLE = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;
const MAX_TABLE_LENGTH = 64;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Their records live in tables of their own, and so do their `record.` events. */
const TAKEN_TABLES = new Set(["lead", "contact", "company", "opportunity"]);

/** Two of them, before and after, fit an event with room to spare. */
export const MAX_ROW_BYTES = 256 * 1024;

/** @throws CodedError `ROW.ARGUMENT` */
export function checkTable(table: unknown): asserts table is string {
  if (typeof table !== "string" || table.length > MAX_TABLE_LENGTH || !TABLE.test(table)) {
    refuse("table", `lowercase words joined by hyphens, of at most ${MAX_TABLE_LENGTH} characters`, JSON.stringify(table) ?? typeof table);
  }
  if (TAKEN_TABLES.has(table)) refuse("table", "free for rows", `${table}, which the product keeps itself`);
}

/** @throws CodedError `ROW.ARGUMENT` */
export function checkRowId(id: unknown, field: string): asserts id is string {
  if (typeof id !== "string" || !UUID.test(id))
    refuse(field, "a UUID", typeof id === "string" ? JSON.stringify(id.slice(0, 80)) : typeof id);
}

/**
 * A row's data as it is stored: strict JSON, an object, of at most {@link MAX_ROW_BYTES}.
 * @throws CodedError `ROW.ARGUMENT` naming the path of what is wrong
 */
export function checkData(data: unknown): JsonObject {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    refuse("data", "a JSON object", data === null ? "null" : Array.isArray(data) ? "an array" : typeof data);
  }
  const { json, bytes } = encode(data);
  if (bytes > MAX_ROW_BYTES) refuse("data", `at most ${MAX_ROW_BYTES} bytes of JSON`, String(bytes));
  return JSON.parse(json) as JsonObject;
}

// As deep as it will lie in the deepest of its events, so that what is stored can also be published.
const AROUND = [`{"data":{"after":{"data":`, `}}}`] as const;

function encode(data: object): { json: string; bytes: number } {
  try {
    const { json, bytes } = encodeStrictJson({ data: { after: { data } } });
    const [before, after] = AROUND;
    return { json: json.slice(before.length, -after.length), bytes: bytes - before.length - after.length };
  } catch (error) {
    if (!isCodedError(error)) throw error;
    throw new CodedError("ROW.ARGUMENT", error.message.replaceAll("payload.data.after.data", "data"), { facts: error.facts, cause: error });
  }
}

function refuse(field: string, expected: string, got: string): never {
  throw new CodedError("ROW.ARGUMENT", `expected ${field} to be ${expected}, got ${got}`, { facts: { field, expected, got } });
}
