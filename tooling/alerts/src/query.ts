/** What a query names of a metric: the labels that it matches or groups by belong to it, whichever of the query's metrics has them. */
export interface Query {
  readonly metrics: readonly string[];
  readonly labels: readonly string[];
}

const WORDS = new Set([
  "and",
  "or",
  "unless",
  "bool",
  "offset",
  "by",
  "without",
  "on",
  "ignoring",
  "group_left",
  "group_right",
  "inf",
  "nan",
]);
const GROUPING = /\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)/g;
const MATCHERS = /\{([^}]*)\}/g;

/**
 * The metrics and labels of a PromQL query. It takes the query to be well-formed, which `promtool` checks: names are what is left once
 * strings, times, lists of labels, functions and the words of the language are gone.
 */
export function readQuery(expr: string): Query {
  const plain = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\[[^\]]*\]|\boffset\s+\w+/g, " ");
  const labels = [
    ...[...plain.matchAll(GROUPING)].flatMap(([, list = ""]) => list.split(",")),
    ...[...plain.matchAll(MATCHERS)].flatMap(([, list = ""]) => list.split(",").map((matcher) => matcher.split(/[=!]/)[0] ?? "")),
  ];
  const rest = plain.replace(GROUPING, " ").replace(MATCHERS, " ");
  const names = [...rest.matchAll(/(?<![\w.])[a-zA-Z_:][\w:]*(?!\s*\(|[\w:])/g)].map(([name]) => name);
  const unique = (words: readonly string[]): string[] => [...new Set(words.map((word) => word.trim()).filter((word) => word !== ""))];
  return { metrics: unique(names.filter((name) => !WORDS.has(name.toLowerCase()))), labels: unique(labels) };
}
