import type { Context, Emitter } from "liquidjs";
import { createTextBudget } from "../text-budget.ts";
import { toText } from "./escape.ts";

/** Collects what a template writes, at most what a rendering may make; all that is written in one rendering counts against its memory, too. */
export function createEmitter({ memoryLimit }: Context): Emitter {
  const budget = createTextBudget("WORKFLOW.TEMPLATE", "the result");
  return {
    buffer: "",
    write(value) {
      const text = toText(value);
      budget.spend(text.length);
      memoryLimit.use(text.length);
      this.buffer += text;
    },
  };
}
