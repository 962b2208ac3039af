import { context, propagation, trace } from "@opentelemetry/api";
import { withDeadline } from "./deadline.ts";
import type { Logger } from "./logger.ts";
import type { Closable } from "./run.ts";

export interface TracingEnv {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly OTEL_TRACES_SAMPLER_ARG: string;
}

/** Spans wait so long (ms) for company. */
const EXPORT_EVERY_MS = 1000;

/**
 * Has this process trace. The parts of the SDK are loaded only where there is a collector: they cost a process a third of a second.
 * Closing sends what is left, within its time; spans that do not get through are lost, and the log says so.
 */
export async function openTracing(env: TracingEnv, app: string, log: Logger): Promise<Closable> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio } = env;
  if (endpoint === undefined) return { close: () => Promise.resolve() };
  const [{ AsyncLocalStorageContextManager }, { W3CTraceContextPropagator }, { OTLPTraceExporter }, { resourceFromAttributes }, sdk] =
    await Promise.all([
      import("@opentelemetry/context-async-hooks"),
      import("@opentelemetry/core"),
      import("@opentelemetry/exporter-trace-otlp-http"),
      import("@opentelemetry/resources"),
      import("@opentelemetry/sdk-trace"),
    ]);
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, "")}/v1/traces`, timeoutMillis: 5000 });
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({ "service.name": `toolctrl-${app}` }),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(Number(ratio)) }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter, scheduledDelayMillis: EXPORT_EVERY_MS })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  trace.setGlobalTracerProvider(provider);
  log.info({ ratio }, "traces are sent");
  return {
    async close(graceMs) {
      const sent = provider.shutdown();
      await withDeadline(sent, graceMs, () => new Error(`expected the last spans to be sent within ${graceMs} ms`)).catch(
        (error: unknown) => log.warn({ err: error }, "spans were lost"),
      );
    },
  };
}
