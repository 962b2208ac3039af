import type { Node } from "oxc-parser";
import type { Rule } from "./execution-rules.ts";
import { nameOf } from "./read-facts.ts";

const WORKERS = ["apps/worker-general/src/main.ts", "apps/worker-mail/src/main.ts"];
const CREATE_EXECUTOR = "packages/workflow/src/executors/create-executor.ts";
const KEY = "WORKFLOW_CREDENTIALS_KEY";

/** No module that a worker loads opens the table of stored credentials, or reads the key to them. */
export const workersOpenNoCredentials: Rule = ({ closureOf, factsOf }) =>
  WORKERS.flatMap((main) => {
    const modules = closureOf(main).filter((path) => path.endsWith(".ts"));
    return modules.flatMap((path) => {
      const { identifiers, texts } = factsOf(path);
      const table = identifiers.has("workflowCredential") || texts.some((text) => text.includes(`"WorkflowCredential"`));
      const key = identifiers.has(KEY) || texts.includes(KEY);
      return [
        ...(path.startsWith("apps/web/") ? [`${path}: is loaded by ${main}`] : []),
        ...(table ? [`${path}: opens the stored credentials, and is loaded by ${main}`] : []),
        ...(key ? [`${path}: reads ${KEY}, and is loaded by ${main}`] : []),
      ];
    });
  });

/** Whatever an executor is made of, the runs that it executes itself have no access to credentials. */
export const executorsRunWithoutCredentials: Rule = ({ factsOf }) => {
  const runs = factsOf(CREATE_EXECUTOR).calls.filter(({ callee }) => callee === "runExecution");
  if (runs.length > 0 && runs.every(({ args: [deps] }) => deps !== undefined && endsWithoutCredentials(deps))) return [];
  return [`${CREATE_EXECUTOR}: expected each run to be executed with credentials: null, last`];
};

/** The last property wins. */
function endsWithoutCredentials(deps: Node): boolean {
  const last = deps.type === "ObjectExpression" ? deps.properties.at(-1) : undefined;
  return last?.type === "Property" && nameOf(last.key) === "credentials" && last.value.type === "Literal" && last.value.raw === "null";
}
