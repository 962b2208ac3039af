import { METRICS } from "@toolctrl/runtime/metrics";

const LE_MATCHER = /\ble\s*(=~|!~|=|!=)\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/g;
const BOUNDS = Object.values(METRICS).flatMap((metric) => ("buckets" in metric ? metric.buckets : []));

/**
 * The matchers of a query that find a bucket in one Prometheus only, one line each: a whole number that a process serves as `le="1"` is stored
 * like that before Prometheus 3, and as `le="1.0"` since. A series that is not found is an alert that never fires.
 */
export function lopsidedBounds(expr: string): string[] {
  return [...expr.matchAll(LE_MATCHER)].flatMap(([matcher, operator = "", quoted = ""]) => {
    const pattern = quoted.slice(1, -1).replaceAll("\\\\", "\\");
    const finds = (bound: string): boolean => (operator.endsWith("~") ? new RegExp(`^(?:${pattern})$`).test(bound) : pattern === bound);
    const bound = [...BOUNDS.filter(Number.isInteger), ...(pattern.match(/\d+/g) ?? [])].find(
      (whole) => finds(`${whole}`) !== finds(`${whole}.0`),
    );
    return bound === undefined
      ? []
      : [`${expr}: expected ${bound} to be found as le="${bound}" and as le="${bound}.0", got ${matcher}: write le=~"${bound}(\\\\.0)?"`];
  });
}
