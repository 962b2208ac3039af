import { MAX_PAYLOAD_DEPTH, type JsonObject, type JsonValue } from "@toolctrl/foundation/json";
import { storableText } from "@toolctrl/foundation/text";
import type { TextBudget } from "./text-budget.ts";

/**
 * What an engine has made, as strict JSON of ordinary objects: undefined becomes null, BigInt a number, a moment its ISO 8601 text in UTC.
 * U+0000 and halves of surrogate pairs, which PostgreSQL's jsonb cannot hold, become U+FFFD, in keys too. Of keys that are then the same the last
 * one stands, as of a key that JSON has twice.
 *
 * @throws CodedError of the budget's code: a whole number beyond 2^53 - 1, infinity, what JSON has no form for, too deep, too much text
 */
export function toJson(value: unknown, budget: TextBudget, depth = 0): JsonValue {
  switch (typeof value) {
    case "string":
      budget.spend(value.length);
      return storableText(value);
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) budget.refuse("a finite number", String(value));
      // JSON has one zero.
      return value === 0 ? 0 : value;
    case "bigint":
      return safeNumber(value, budget);
    case "undefined":
      return null;
    case "object":
      return value === null ? null : containerToJson(value, budget, depth);
    default:
      return budget.refuse("a JSON value", typeof value);
  }
}

function safeNumber(value: bigint, budget: TextBudget): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) budget.refuse(`a whole number of at most ${Number.MAX_SAFE_INTEGER}`, String(value));
  return number;
}

function containerToJson(value: object, budget: TextBudget, depth: number): JsonValue {
  if (depth >= MAX_PAYLOAD_DEPTH) budget.refuse(`nested at most ${MAX_PAYLOAD_DEPTH} levels deep`, "more");
  if (Array.isArray(value)) {
    budget.spend(value.length + 1);
    return value.map((member) => toJson(member, budget, depth + 1));
  }
  if (value instanceof Date) return toJson(momentOf(value, budget), budget);
  if (!isPlain(value)) budget.refuse("a JSON value", value.constructor.name.toLowerCase());
  budget.spend(1);
  const object: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    // The one key whose assignment would set a prototype.
    if (key === "__proto__") continue;
    budget.spend(key.length + 1);
    object[storableText(key)] = toJson(member, budget, depth + 1);
  }
  return object;
}

function momentOf(date: Date, budget: TextBudget): string {
  return Number.isNaN(date.getTime()) ? budget.refuse("a moment", "none") : date.toISOString();
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}
