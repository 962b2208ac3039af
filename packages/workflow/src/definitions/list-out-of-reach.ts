import { isHiddenKey } from "@toolctrl/foundation/json";
import type { SchemaProblem } from "@toolctrl/foundation/schema-problems";
import type { WorkflowDefinition, WorkflowNode } from "@toolctrl/foundation/workflows";
import { isCase } from "../expressions.ts";

/**
 * What of a definition nothing could ever come to: names that expressions read as absent, and cases of a `switch` whose values all go to an earlier
 * one. It is asked when a definition is saved and not when it is read: one that was saved before runs on as it did.
 */
export function listOutOfReach({ trigger, nodes }: WorkflowDefinition): SchemaProblem[] {
  return [
    ...(trigger.type === "manual" ? hiddenNames(trigger.input ?? [], "trigger.input") : []),
    ...nodes.flatMap((node, index) => [...hiddenName(node.id, `nodes.${index}.id`), ...inConfig(node, `nodes.${index}.config`)]),
  ];
}

function inConfig({ block, config }: WorkflowNode, path: string): SchemaProblem[] {
  if (block === "waitForInput") return hiddenNames(config.fields, `${path}.fields`);
  if (block !== "switch") return [];
  return config.cases.flatMap(({ equals }, index) => {
    const first = config.cases.findIndex((earlier) => isCase(earlier.equals, equals));
    return first === index
      ? []
      : [{ path: `${path}.cases.${index}.equals`, message: `expected a value of its own, got one that case ${first} takes` }];
  });
}

function hiddenNames(fields: ReadonlyArray<{ readonly name: string }>, path: string): SchemaProblem[] {
  return fields.flatMap(({ name }, index) => hiddenName(name, `${path}.${index}.name`));
}

function hiddenName(name: string, path: string): SchemaProblem[] {
  return isHiddenKey(name) ? [{ path, message: `expected a name that expressions can read, got ${name}` }] : [];
}
