import { EvaluationError } from "@marcbachmann/cel-js";
import { isHiddenKey } from "@toolctrl/foundation/json";
import { MAX_TEXT } from "../text-budget.ts";
import { ExpressionProblem } from "./expression-problem.ts";

const TEXT_METHODS = [
  "contains",
  "endsWith",
  "indexOf",
  "lastIndexOf",
  "lowerAscii",
  "size",
  "split",
  "startsWith",
  "substring",
  "trim",
  "upperAscii",
];
const LIST_METHODS = ["all", "exists", "exists_one", "filter", "join", "map"];
const MOMENT_METHODS = ["getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getMonth"];
const CLOCK_METHODS = ["getHours", "getMilliseconds", "getMinutes", "getSeconds"];

/**
 * Functions of the language, by how they are called. What the engine has beside them stays out: `matches` runs a pattern of the author's
 * over somebody's data, bytes and unsigned numbers are nothing that JSON has.
 */
export const FUNCTIONS = {
  call: new Set(["bool", "double", "duration", "dyn", "has", "int", "size", "string", "timestamp", "type"]),
  rcall: new Set([...TEXT_METHODS, ...LIST_METHODS, ...MOMENT_METHODS, ...CLOCK_METHODS]),
} as const;

/** The variables, as a type of the engine's: what has a type is not searched for one, member by member, at every step of a path. */
export class Scope {
  readonly variables: object;

  constructor(variables: object) {
    this.variables = variables;
  }
}

/** What a path of names leads to, from the variables; null when it leads nowhere. */
export function readPath({ variables }: Scope, names: readonly string[]): unknown {
  return names.reduce<unknown>(read, variables);
}

/** Whether the last name of a path is a key of what is before it. */
export function hasPath(scope: Scope, names: readonly string[]): boolean {
  return has(readPath(scope, names.slice(0, -1)), names.at(-1));
}

/** The member of a value, null when it has none: an object's own key, a list's place. Texts, numbers and moments have no members. */
export function read(value: unknown, key: unknown): unknown {
  if (Array.isArray(value)) {
    const index = typeof key === "bigint" || typeof key === "number" ? Number(key) : Number.NaN;
    return Number.isInteger(index) ? (value[index] ?? null) : null;
  }
  return has(value, key) ? ((value as Record<string, unknown>)[key as string] ?? null) : null;
}

/** Whether an object has the key itself, also with null in it. */
export function has(value: unknown, key: unknown): boolean {
  if (typeof key !== "string" || typeof value !== "object" || value === null || Array.isArray(value) || isHiddenKey(key)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === null || prototype === Object.prototype) && Object.hasOwn(value, key);
}

/** What counts as a condition, the one rule: true holds; false and null do not; anything else is a mistake. */
export function holds(value: unknown): boolean {
  if (value === true) return true;
  if (value === false || value === null) return false;
  return refuse("a condition to be true, false or null", kindOf(value));
}

/** What a loop goes over: null has no members. */
export function members(value: unknown): unknown {
  return value ?? [];
}

/** What one evaluation may still make, in characters and members of lists. */
export interface Room {
  left: number;
}

/** Long texts that are doubled, or made anew for each member of a list, would fill the memory before the time is over. */
export function createRoom(): Room {
  return { left: 8 * MAX_TEXT };
}

/** Passes on what was made, unless it is larger than a payload or there is no room left. */
export function made(room: Room, value: unknown): unknown {
  if (typeof value === "string" || Array.isArray(value)) take(room, value.length);
  return value;
}

/** Joins texts. The length is known before the text is made: two short lists can ask for one that fills the memory. */
export function joinTexts(room: Room, list: unknown, separator: unknown = ""): string {
  if (!Array.isArray(list) || !list.every((member) => typeof member === "string") || typeof separator !== "string") {
    refuse("join() to be given a list of strings and a string", `${kindOf(list)} and ${kindOf(separator)}`);
  }
  let length = separator.length * Math.max(0, list.length - 1);
  for (const text of list) length += text.length;
  take(room, length);
  return list.join(separator);
}

function take(room: Room, length: number): void {
  room.left -= length;
  if (length > MAX_TEXT || room.left < 0) refuse(`at most ${MAX_TEXT} characters or members`, "more");
}

/** As an error of the engine, which adds the place. */
function refuse(expected: string, got: string): never {
  const cause = new ExpressionProblem(null, expected, got);
  throw new EvaluationError({ code: "refused", message: cause.message, cause });
}

export function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  switch (typeof value) {
    case "object":
      return "an object";
    case "bigint":
      return "a number";
    default:
      return `a ${typeof value}`;
  }
}
