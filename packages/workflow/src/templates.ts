import type { JsonValue } from "@toolctrl/foundation/json";
import { storableText } from "@toolctrl/foundation/text";
import { inert, type Variables } from "./inert.ts";
import { runBounded } from "./run-bounded.ts";
import { engines, type Engines, type Target } from "./templates/engines.ts";
import { createInertContext } from "./templates/inert-context.ts";
import { renderMembers } from "./templates/render-json.ts";
import { templateError } from "./templates/template-error.ts";
import { createTextBudget } from "./text-budget.ts";

const LIMIT_MS = 500;

/**
 * Checks a template without data: that it parses, and has the language's tags and filters alone.
 * @throws CodedError `WORKFLOW.TEMPLATE` with line and column, from 1
 */
export function checkTemplate(template: string): void {
  bounded(({ text }) => text.parse(template));
}

/**
 * A template as text that PostgreSQL can hold. What is not there is empty; lists and objects are their JSON.
 *
 * @param variables JSON by name; the template sees copies of what it reads, 1 MiB of text at most
 * @throws CodedError `WORKFLOW.TEMPLATE`: see {@link checkTemplate}; also when it cannot be rendered, for more than 1 MiB of output, or after 500 ms
 */
export function renderText(template: string, variables: Variables): string {
  return render(template, variables, "text");
}

/** As {@link renderText}, with every value HTML-escaped, unless its placeholder ends in `| raw`. */
export function renderHtml(template: string, variables: Variables): string {
  return render(template, variables, "html");
}

/** As {@link renderText}, with every value percent-encoded as one component of the URL, unless its placeholder ends in `| raw`. */
export function renderUrl(template: string, variables: Variables): string {
  return render(template, variables, "url");
}

/**
 * A JSON value with each of its texts rendered. A text that is one placeholder and nothing else (`"{{ trigger.total }}"`) becomes the value
 * with its type, null when it is not there; any other text stays one. Keys are no templates. Limits are those of {@link renderText}, for all
 * texts together.
 *
 * @throws CodedError `WORKFLOW.TEMPLATE` with the path of the text
 */
export function renderJson(value: JsonValue, variables: Variables): JsonValue {
  return bounded(({ text }) => renderMembers(value, variables, text));
}

function render(template: string, variables: Variables, target: Target): string {
  return bounded(({ [target]: engine }) => {
    const scope = inert(variables, createTextBudget("WORKFLOW.TEMPLATE", "the data that is read")) as object;
    return storableText(engine.renderSync(engine.parse(template), createInertContext(engine, scope)) as string);
  });
}

function bounded<T>(work: (made: Engines) => T): T {
  // Made once, and not on a template's time.
  const made = engines();
  try {
    return runBounded(LIMIT_MS, () => work(made));
  } catch (error) {
    throw templateError(error);
  }
}
