import type { z } from "zod";

/**
 * A check for `superRefine` of a list: each entry's key may stand once. The problem is at the later one, at `field` of it.
 * @param keyOf what has to differ
 */
export function uniqueBy<T>(
  keyOf: (entry: T) => unknown,
  what: string,
  field?: string,
): (entries: readonly T[], context: z.RefinementCtx) => void {
  return (entries, context) => {
    const seen = new Map<unknown, number>();
    for (const [index, entry] of entries.entries()) {
      const first = seen.get(keyOf(entry));
      if (first === undefined) seen.set(keyOf(entry), index);
      else {
        context.addIssue({
          code: "custom",
          path: field === undefined ? [index] : [index, field],
          message: `expected each ${what} once, got that of entry ${first} again`,
        });
      }
    }
  };
}
