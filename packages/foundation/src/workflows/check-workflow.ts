import { CodedError, isCodedError } from "../errors.ts";
import { encodeStrictJson, MAX_PAYLOAD_BYTES } from "../json.ts";
import { listSchemaProblems, problemLines, type SchemaProblem } from "../schema-problems.ts";
import { checkGraph } from "./check-graph.ts";
import { definitionSchema, type WorkflowDefinition } from "./definition.ts";

/**
 * A workflow as it is kept: its shape, every block's configuration and its graph checked, and what was left out filled in.
 * Expressions and templates are checked where their interpreters are.
 *
 * @param input JSON of at most 1 MiB
 * @throws CodedError `WORKFLOW.DEFINITION`; its message has a line for each problem, and `facts.problems` the same as `{ path, message }[]`
 */
export function checkWorkflow(input: unknown): WorkflowDefinition {
  const given = readStrictJson(input);
  const parsed = definitionSchema.safeParse(given);
  const problems = [...(parsed.success ? [] : listSchemaProblems(parsed.error)), ...checkGraph(given)];
  if (!parsed.success || problems.length > 0) throw wrongDefinition(problems);
  return parsed.data;
}

// First, as the schemas would follow a cycle, and pass what jsonb refuses.
function readStrictJson(input: unknown): unknown {
  try {
    return encodeStrictJson(input).value;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    throw wrongDefinition([jsonProblem(error)]);
  }
}

function jsonProblem({ code, facts }: CodedError): SchemaProblem {
  if (code === "PUBLISH.PAYLOAD_TOO_LARGE") {
    return { path: "", message: `expected at most ${MAX_PAYLOAD_BYTES} bytes of JSON, got ${String(facts["bytes"])}` };
  }
  const path = String(facts["path"])
    .replace(/^payload\.?/, "")
    .replaceAll(/\[(\d+)\]/g, ".$1");
  return { path, message: `expected ${String(facts["expected"])}, got ${String(facts["got"])}` };
}

function wrongDefinition(problems: readonly SchemaProblem[]): CodedError {
  return new CodedError("WORKFLOW.DEFINITION", `expected the workflow's definition to hold, got:\n${problemLines(problems, "workflow")}`, {
    facts: { problems },
  });
}
