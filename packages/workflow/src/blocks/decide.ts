import { evaluateCondition, evaluateValue, isCase } from "../expressions.ts";
import type { BlockEnd, BlockRun } from "./block-run.ts";

export function runIf({ node, variables }: BlockRun<"if">): BlockEnd {
  const result = evaluateCondition(node.config.condition, variables);
  return { kind: "done", branch: result ? "then" : "else", output: { result } };
}

/** The first case that matches, by the rule of {@link isCase}; without one the branch `default`, and `case` null says so in the run's trace. */
export function runSwitch({ node, variables }: BlockRun<"switch">): BlockEnd {
  const value = evaluateValue(node.config.value, variables);
  const found = node.config.cases.find(({ equals }) => isCase(value, equals));
  return { kind: "done", branch: found?.name ?? "default", output: { value, case: found?.name ?? null } };
}
