import { isHiddenKey, MAX_PAYLOAD_DEPTH, type JsonValue } from "@toolctrl/foundation/json";
import type { TextBudget } from "./text-budget.ts";

/** What expressions and templates see, by name. */
export type Variables = Readonly<Record<string, JsonValue>>;

/** JSON whose objects have no prototype. */
export type Inert = string | number | boolean | null | Inert[] | InertObject;
export interface InertObject {
  readonly [key: string]: Inert;
}

/**
 * Down to this depth a member is copied when it is read first, so that what nobody reads costs nothing: one long answer among the
 * `steps` is no burden on a condition that asks for another.
 */
const LAZY_DEPTH = 2;

/**
 * Makes JSON safe to hand to an engine: copies without prototypes and without the keys of `isHiddenKey`. What JSON does not know
 * (functions, symbols, BigInt) reads as null.
 *
 * @param budget what is read counts against it
 * @throws CodedError of the budget's code, now or when a member is read: nested deeper than a payload may be (64), or more text than the budget has
 */
export function inert(value: JsonValue | Variables, budget: TextBudget): Inert {
  return copy(value, 0, budget);
}

function copy(value: unknown, depth: number, budget: TextBudget): Inert {
  // At least what JSON would write, so that what was published can be read.
  budget.spend(typeof value === "string" ? value.length : 1);
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value !== "object" || value === null) return null;
  // The variables themselves are no level of anybody's data.
  if (depth > MAX_PAYLOAD_DEPTH) budget.refuse(`nested at most ${MAX_PAYLOAD_DEPTH} levels deep`, "more");
  return Array.isArray(value) ? value.map((member) => copy(member, depth + 1, budget)) : copyObject(value, depth, budget);
}

function copyObject(value: object, depth: number, budget: TextBudget): InertObject {
  const object = Object.create(null) as InertObject;
  for (const [key, member] of Object.entries(value) as Array<[string, unknown]>) {
    if (isHiddenKey(key)) continue;
    budget.spend(key.length);
    if (depth < LAZY_DEPTH) defineLazily(object, key, () => copy(member, depth + 1, budget));
    else Object.defineProperty(object, key, { value: copy(member, depth + 1, budget), enumerable: true });
  }
  return object;
}

function defineLazily(object: InertObject, key: string, read: () => Inert): void {
  let known: { readonly member: Inert } | undefined;
  Object.defineProperty(object, key, { enumerable: true, get: () => (known ??= { member: read() }).member });
}
