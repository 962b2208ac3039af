import { parseSync } from "oxc-parser";

/** What stands before an `import.meta` that names a file beside the module, as for a process that is started. */
const FILE_URL = /new URL\(\s*"(\.{1,2}\/[^"]+)"\s*,\s*$/;

/**
 * What a module brings in when it is loaded or run, as it is written there: imports and re-exports, literal dynamic imports, and files
 * named beside it. What is imported for its types alone changes nothing that runs, and is left out.
 * Of a text that is no TypeScript, what can be made out: it would not run.
 */
export function listImports(path: string, text: string): string[] {
  const { module } = parseSync(path, text);
  const found: string[] = [];
  for (const { moduleRequest, entries } of module.staticImports) {
    // Without entries it is imported for what it does.
    if (entries.length === 0 || entries.some((entry) => !entry.isType)) found.push(moduleRequest.value);
  }
  for (const { moduleRequest, isType } of module.staticExports.flatMap(({ entries }) => entries)) {
    if (moduleRequest !== null && !isType) found.push(moduleRequest.value);
  }
  for (const { moduleRequest } of module.dynamicImports) {
    const literal = /^["'`]([^"'`$]+)["'`]$/.exec(text.slice(moduleRequest.start, moduleRequest.end));
    if (literal?.[1] !== undefined) found.push(literal[1]);
  }
  const beside = module.importMetas.flatMap(({ start }) => FILE_URL.exec(text.slice(0, start))?.[1] ?? []);
  return [...found, ...beside];
}
