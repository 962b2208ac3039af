import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { METRICS, type LabelsOf, type MetricName, type MetricOfKind } from "./metrics-table.ts";

export { METRICS, METRIC_LABELS, type LabelsOf, type MetricName, type MetricOfKind } from "./metrics-table.ts";

// A metric without labels is called without them; one with labels cannot forget them.
type LabelArgument<Name extends MetricName> = keyof LabelsOf<Name> extends never ? [] : [labels: LabelsOf<Name>];

/** The product's metrics. Reading them never touches the database: gauges hold what a sampler last set. */
export interface Metrics {
  add<Name extends MetricOfKind<"counter">>(name: Name, amount: number, ...labels: LabelArgument<Name>): void;
  set<Name extends MetricOfKind<"gauge">>(name: Name, value: number, ...labels: LabelArgument<Name>): void;
  /** Seconds. */
  observe<Name extends MetricOfKind<"histogram">>(name: Name, seconds: number, ...labels: LabelArgument<Name>): void;
  /** In the Prometheus text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

/** Makes a registry of its own, so that two in one process do not mix. `processMetrics` adds Node's memory, CPU and event loop. */
export function createMetrics(options: { processMetrics?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.processMetrics ?? true) collectDefaultMetrics({ register: registry });
  const counters = new Map<string, Counter>();
  const gauges = new Map<string, Gauge>();
  const histograms = new Map<string, Histogram>();
  for (const [name, metric] of Object.entries(METRICS)) {
    const settings = { name, help: metric.help, labelNames: [...metric.labels], registers: [registry] };
    if (metric.kind === "counter") counters.set(name, new Counter(settings));
    else if (metric.kind === "gauge") gauges.set(name, new Gauge(settings));
    else histograms.set(name, new Histogram({ ...settings, buckets: [...metric.buckets] }));
  }
  return {
    add: (name, amount, ...[labels]) => counters.get(name)?.inc(labels ?? {}, amount),
    set: (name, value, ...[labels]) => gauges.get(name)?.set(labels ?? {}, value),
    observe: (name, seconds, ...[labels]) => histograms.get(name)?.observe(labels ?? {}, seconds),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
