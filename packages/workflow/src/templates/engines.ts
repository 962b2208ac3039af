import { Liquid, type FilterImplOptions } from "liquidjs";
import { MAX_TEXT } from "../text-budget.ts";
import { createEmitter } from "./create-emitter.ts";
import { escapeHtml, escapeUrl } from "./escape.ts";
import { weightOf } from "./weight-of.ts";

/** Characters of one template; units of the engine's own count of what a rendering makes (characters, members of lists). */
const LIMITS = { template: 200_000, memory: 4 * MAX_TEXT };

/**
 * The tags of the language. Out are those that read other templates (`include`, `render`, `layout`, `block`), that write into the
 * variables (`increment`, `decrement`), and two that write or compare text past the limits and the escaping (`cycle`, `tablerow`).
 */
const TAGS = new Set(["#", "assign", "break", "capture", "case", "comment", "continue", "echo", "for", "if", "liquid", "raw", "unless"]);

/** Filters that run a text as code: what they are given can be data. */
const CODE_FILTERS = /_exp$/;

type FilterHandler = Extract<FilterImplOptions, (...args: never) => unknown>;

/** Where the values go. */
export type Target = "text" | "html" | "url";
export type Engines = Readonly<Record<Target, Liquid>>;

let made: Engines | undefined;

export function engines(): Engines {
  made ??= { text: createEngine(), html: createEngine(escapeHtml), url: createEngine(escapeUrl) };
  return made;
}

function createEngine(outputEscape?: (value: unknown) => string): Liquid {
  const engine = new Liquid({
    // Instead of a file system, should anything ask for one.
    templates: {},
    globals: Object.create(null) as object,
    ownPropertyOnly: true,
    // An unknown variable is empty, as data varies; an unknown filter is a mistake in the template.
    strictVariables: false,
    strictFilters: true,
    locale: "en-US",
    timezoneOffset: 0,
    // Its time is limited by whoever renders: the engine's own limit looks at the clock between two parts of a template alone.
    parseLimit: LIMITS.template,
    memoryLimit: LIMITS.memory,
    ...(outputEscape === undefined ? {} : { outputEscape }),
  });
  for (const name of Object.keys(engine.tags)) if (!TAGS.has(name)) delete engine.tags[name];
  for (const [name, filter] of Object.entries(engine.filters)) {
    if (CODE_FILTERS.test(name)) engine.unregisterFilter(name);
    else engine.registerFilter(name, weighed(filter));
  }
  boundOutput(engine);
  return engine;
}

/**
 * A filter whose result counts against the memory limit. The engine's filters count what they are given, most of them after they have made
 * a text of it: of a list that holds one long text a thousand times, that text alone would fill the memory.
 */
function weighed(filter: FilterImplOptions): FilterImplOptions {
  const { handler, raw } = typeof filter === "function" ? { handler: filter, raw: false } : filter;
  return {
    raw,
    *handler(...values: Parameters<FilterHandler>): Generator<unknown, unknown, unknown> {
      const result: unknown = yield handler.apply(this, values);
      this.context.memoryLimit.use(weightOf(result));
      return result;
    },
  };
}

/** What is written, also into a variable, is bounded while it is written. */
function boundOutput({ renderer }: Liquid): void {
  const render = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, emitter = createEmitter(context)) => render(templates, context, emitter);
}
