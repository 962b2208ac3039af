import type { z } from "zod";

/** Shorter texts are part of too many others. */
const MIN_PART_LENGTH = 3;
const MAX_SHOWN_LENGTH = 64;

/** A text of the input, as a message shows it. */
export function quote(text: string): string {
  return JSON.stringify(text.slice(0, MAX_SHOWN_LENGTH));
}

/** `; did you mean email` when a known name is close to the given one, else nothing. Linear in both: a definition may hold hundreds of wrong names. */
export function suggestion(given: string, known: readonly string[]): string {
  const near =
    known.find((name) => differInOnePlace(plain(given), plain(name))) ?? known.find((name) => isPartOf(plain(given), plain(name)));
  return near === undefined ? "" : `; did you mean ${near}`;
}

/** The message for an unknown value of what tells the members of a union apart; for zod's `error` option of a discriminated union. */
export function unknownKind(key: string, known: readonly string[], noun: string): (issue: z.core.$ZodRawIssue) => string | undefined {
  return (issue) => {
    if (issue.code !== "invalid_union") return undefined;
    const given: unknown = (issue.input as Record<string, unknown> | undefined)?.[key];
    const expected = `expected one of ${known.join(", ")}`;
    if (typeof given !== "string") return `${expected}, got ${given === undefined ? "nothing" : (JSON.stringify(given) ?? typeof given)}`;
    return `${expected}, got ${quote(given)}: there is no such ${noun}${suggestion(given, known)}`;
  };
}

function plain(name: string): string {
  return name.slice(0, MAX_SHOWN_LENGTH).toLowerCase().replaceAll(/[-_ ]/g, "");
}

function isPartOf(one: string, other: string): boolean {
  const [short, long] = one.length < other.length ? [one, other] : [other, one];
  return short.length >= MIN_PART_LENGTH && long.includes(short);
}

/** One character more, less or other, or two neighbours that changed places. */
function differInOnePlace(one: string, other: string): boolean {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  let end = 0;
  while (end < Math.min(one.length, other.length) - start && one.at(-1 - end) === other.at(-1 - end)) end += 1;
  const [left, right] = [one.slice(start, one.length - end), other.slice(start, other.length - end)];
  if (left.length <= 1 && right.length <= 1) return one.length + other.length > 2;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}
