import { METRICS, type MetricName } from "@toolctrl/runtime/metrics";
import { readQuery } from "./query.ts";

/** Labels that the scraper adds to every series. */
const TARGET_LABELS = ["job", "instance"];

/** What a query names that no process exposes, one line each. */
export function unknownNames(expr: string): string[] {
  const { metrics, labels } = readQuery(expr);
  const known = new Set(TARGET_LABELS);
  const unknown: string[] = [];
  if (metrics.length === 0) unknown.push(`${expr}: expected a metric, got none`);
  for (const name of metrics) {
    const own = labelsOf(name);
    if (own === null) unknown.push(`${expr}: ${name} is no metric`);
    for (const label of own ?? []) known.add(label);
  }
  return [
    ...unknown,
    ...labels.filter((label) => !known.has(label)).map((label) => `${expr}: ${metrics.join(", ")} has no label ${label}`),
  ];
}

/** The metric that a series belongs to; a histogram has three kinds of them. */
export function metricOf(series: string): MetricName | null {
  const isHistogram = (name: string): boolean => Object.hasOwn(METRICS, name) && METRICS[name as MetricName].kind === "histogram";
  const base = series.replace(/_(?:bucket|sum|count)$/, "");
  if (base !== series && isHistogram(base)) return base as MetricName;
  return Object.hasOwn(METRICS, series) && !isHistogram(series) ? (series as MetricName) : null;
}

function labelsOf(series: string): readonly string[] | null {
  const name = metricOf(series);
  if (name === null) return null;
  return series.endsWith("_bucket") ? [...METRICS[name].labels, "le"] : METRICS[name].labels;
}
