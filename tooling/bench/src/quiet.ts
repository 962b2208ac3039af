import { createAlerts, type Alerts } from "@toolctrl/runtime/alerts";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics, type Metrics } from "@toolctrl/runtime/metrics";

export interface Telemetry {
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly alerts: Alerts;
}

/** The product's own telemetry as in production, with a log that shows warnings: a bench that hides them would measure failures. */
export function benchTelemetry(): Telemetry {
  const log = createLogger({ app: "bench", level: "warn", destination: { write: (line) => void process.stderr.write(line) } });
  return { log, metrics: createMetrics(), alerts: createAlerts({ app: "bench", log }) };
}
