import { CodedError } from "@toolctrl/foundation/errors";
import { MAX_TEXT } from "../text-budget.ts";

/**
 * The characters of a value once it is written down, lists with all their members however often one is in them; roughly, for what is no text.
 * @throws CodedError `WORKFLOW.TEMPLATE` when it is more than a rendering may make; then it is not counted to its end
 */
export function weightOf(value: unknown): number {
  let weight = 0;
  const add = (part: unknown): void => {
    weight += typeof part === "string" ? part.length : 1;
    if (weight > MAX_TEXT) {
      throw new CodedError("WORKFLOW.TEMPLATE", `expected each value of the template to have at most ${MAX_TEXT} characters, got more`, {
        facts: { limit: MAX_TEXT },
      });
    }
    if (Array.isArray(part)) part.forEach(add);
  };
  add(value);
  return weight;
}
