import { CodedError } from "@toolctrl/foundation/errors";
import { MAX_PAYLOAD_BYTES } from "@toolctrl/foundation/json";

/** Characters that one evaluation may read, and as many that it may make: what a payload may have. */
export const MAX_TEXT = MAX_PAYLOAD_BYTES;

export type WorkflowCode = "WORKFLOW.EXPRESSION" | "WORKFLOW.TEMPLATE";

/** Counts characters, and stops whoever goes on beyond the limit. */
export interface TextBudget {
  /** @throws CodedError of the budget's code */
  spend(characters: number): void;
  /** The error for what was refused for another reason than its size. */
  refuse(expected: string, got: string): never;
}

/** @param what the text is, for the message: "data that is read", "the result" */
export function createTextBudget(code: WorkflowCode, what: string): TextBudget {
  let left = MAX_TEXT;
  const refuse = (expected: string, got: string): never => {
    throw new CodedError(code, `expected ${what} to be ${expected}, got ${got}`, { facts: { expected, got } });
  };
  return {
    refuse,
    spend(characters) {
      left -= characters;
      if (left < 0) refuse(`at most ${MAX_TEXT} characters`, "more");
    },
  };
}
