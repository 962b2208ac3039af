import { CodedError, describeError } from "@toolctrl/foundation/errors";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";
import { Liquid } from "liquidjs";

/** Characters of a template, characters of a rendered text, ms of one rendering, units of liquidjs' own memory count. */
const LIMITS = { template: 200_000, output: 1_000_000, renderMs: 500, memory: 10_000_000 };

const OPTIONS = {
  // An empty map instead of a file system: `render`, `include` and `layout` find nothing, whatever path a template names.
  templates: {},
  ownPropertyOnly: true,
  // An unknown variable is empty (data varies); an unknown filter is a mistake in the template.
  strictVariables: false,
  strictFilters: true,
  parseLimit: LIMITS.template,
  renderLimit: LIMITS.renderMs,
  memoryLimit: LIMITS.memory,
};

const text = new Liquid(OPTIONS);
const html = new Liquid({ ...OPTIONS, outputEscape: "escape" });

/**
 * Renders a Liquid template. In `html` every value is HTML-escaped, unless the template itself says `| raw`; in `text` values go in as they are.
 * Values see their own properties only; the data is copied, so that no key of it can reach a prototype.
 * @throws CodedError `MAIL.TEMPLATE` naming the field: it does not parse, or needs more time, memory or room than a mail may.
 */
export function renderTemplate(template: string, data: JsonObject, options: { field: string; target: "text" | "html" }): string {
  const engine = options.target === "html" ? html : text;
  let output: string;
  try {
    output = String(engine.parseAndRenderSync(template, inert(data)));
  } catch (cause) {
    throw new CodedError("MAIL.TEMPLATE", `expected the template of ${options.field} to render, got: ${describeError(cause, 300)}`, {
      facts: { field: options.field },
    });
  }
  if (output.length > LIMITS.output) {
    throw new CodedError(
      "MAIL.TEMPLATE",
      `expected ${options.field} to render to at most ${LIMITS.output} characters, got ${output.length}`,
      {
        facts: { field: options.field },
      },
    );
  }
  return output;
}

/**
 * Checks a template without rendering it.
 * @returns what it asks of its data, as paths: `{{ data.name }}` is `["data", "name"]`; a part that is computed ends its path
 * @throws CodedError `MAIL.TEMPLATE` naming the field, when it does not parse
 */
export function checkTemplate(template: string, field: string): string[][] {
  try {
    const segments = text.globalVariableSegmentsSync(template, { partials: false });
    return segments.map((path) => {
      const end = path.findIndex((segment) => typeof segment !== "string");
      return path.slice(0, end === -1 ? path.length : end).map(String);
    });
  } catch (cause) {
    throw new CodedError("MAIL.TEMPLATE", `expected the template of ${field} to parse, got: ${describeError(cause, 300)}`, {
      facts: { field },
    });
  }
}

/** A copy without prototypes, and without the one key whose assignment would set one. */
function inert(value: JsonObject): JsonObject;
function inert(value: JsonValue): JsonValue;
function inert(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((member) => inert(member));
  if (typeof value !== "object" || value === null) return value;
  const copy: JsonObject = Object.create(null) as JsonObject;
  for (const [key, member] of Object.entries(value)) {
    if (key !== "__proto__") copy[key] = inert(member);
  }
  return copy;
}
