import { assertNever, CodedError, isCodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { problemLines, type SchemaProblem } from "@toolctrl/foundation/schema-problems";
import type { WorkflowDefinition, WorkflowNode } from "@toolctrl/foundation/workflows";
import { checkExpression } from "../expressions.ts";
import { checkTemplate } from "../templates.ts";
import { listOutOfReach } from "./list-out-of-reach.ts";

/** Conditions and templates of a node by their path in its config. */
type Texts = { readonly conditions: Record<string, string>; readonly templates: Record<string, JsonValue> };

/**
 * Parses every condition and template of a definition, and looks for names and cases that nothing could come to, so that a mistake is found when it is
 * made and not when a customer waits.
 * @throws CodedError `WORKFLOW.DEFINITION` with all that is wrong, each with its path
 */
export function checkWorkflowTexts(definition: WorkflowDefinition): void {
  const { trigger } = definition;
  const problems = [
    ...("condition" in trigger && trigger.condition !== undefined
      ? problemOf("trigger.condition", () => checkExpression(trigger.condition ?? ""))
      : []),
    ...listOutOfReach(definition),
    ...definition.nodes.flatMap((node, index) => problemsOfNode(node, `nodes.${index}.config`)),
  ];
  if (problems.length === 0) return;
  throw new CodedError(
    "WORKFLOW.DEFINITION",
    `expected texts, names and cases that can be read and reached, got:\n${problemLines(problems, "definition")}`,
    {
      facts: { problems },
    },
  );
}

function problemsOfNode(node: WorkflowNode, path: string): SchemaProblem[] {
  const { conditions, templates } = textsOf(node);
  return [
    ...Object.entries(conditions).flatMap(([name, source]) => problemOf(`${path}.${name}`, () => checkExpression(source))),
    ...Object.entries(templates).flatMap(([name, value]) => templateProblems(`${path}.${name}`, value)),
  ];
}

function textsOf(node: WorkflowNode): Texts {
  const { block, config } = node;
  const none: Texts = { conditions: {}, templates: {} };
  switch (block) {
    case "if":
      return { ...none, conditions: { condition: config.condition } };
    case "switch":
      return { ...none, conditions: { value: config.value } };
    case "email": {
      const { to, replyTo, subject, text, html } = config;
      return { ...none, templates: withoutUndefined({ to, replyTo, subject, text, html }) };
    }
    case "httpRequest": {
      const { url, headers, body } = config;
      return { ...none, templates: withoutUndefined({ url, headers, body }) };
    }
    case "waitForInput": {
      const { title, assignee } = config;
      return { ...none, templates: withoutUndefined({ title, assignee }) };
    }
    case "rowCreate":
      return { ...none, templates: withoutUndefined({ data: config.data, parent: config.parent }) };
    case "rowUpdate":
      return { ...none, templates: { id: config.id, data: config.data } };
    case "rowDelete":
      return { ...none, templates: { id: config.id } };
    default:
      return assertNever(node);
  }
}

function withoutUndefined(values: Record<string, JsonValue | undefined>): Record<string, JsonValue> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined));
}

function templateProblems(path: string, value: JsonValue): SchemaProblem[] {
  if (typeof value === "string") return problemOf(path, () => checkTemplate(value));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => templateProblems(`${path}.${key}`, member));
}

function problemOf(path: string, check: () => void): SchemaProblem[] {
  try {
    check();
    return [];
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return [{ path, message: error.message }];
  }
}
