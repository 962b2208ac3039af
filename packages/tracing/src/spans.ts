import {
  context,
  type Attributes,
  type Context,
  INVALID_SPAN_CONTEXT,
  propagation,
  ProxyTracerProvider,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type TextMapGetter,
} from "@opentelemetry/api";
import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";

export { type Span, SpanKind } from "@opentelemetry/api";

/** A W3C trace context, as an event, a job or a request carries it. */
export interface TraceContext {
  readonly traceparent?: string | null | undefined;
  readonly tracestate?: string | null | undefined;
}

export interface SpanOptions {
  /** What it is for its trace; default `INTERNAL`. */
  readonly kind?: SpanKind;
  /** What it continues. Default: what is active here; null begins a trace of its own. */
  readonly parent?: TraceContext | null;
  /** What it belongs to without continuing it: the events of a batch, the earlier tries of a delivery. */
  readonly links?: readonly TraceContext[];
  readonly attributes?: Attributes;
}

type Carrier = { traceparent?: string; tracestate?: string };

const TRACER = "toolctrl-outbox";

/**
 * The context that is active here, to be handed on with an event, a job or a request; empty where nothing is traced. Who traces is up to
 * the process: an app of ours by its environment, a product by its own OpenTelemetry SDK.
 */
export function activeTraceContext(): Carrier {
  return carrierOf(context.active());
}

/** The ids of the active span for a log line; empty where nothing is traced. */
export function activeTraceIds(): { trace_id?: string; span_id?: string } {
  const active = trace.getActiveSpan()?.spanContext();
  return active === undefined || !trace.isSpanContextValid(active) ? {} : { trace_id: active.traceId, span_id: active.spanId };
}

/** Runs in a span, which ends with it; what it throws makes the span an error, and is thrown on. Without anybody who traces it costs next to nothing. */
export function inSpan<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T> {
  return isTraced() ? runIn(name, options, run) : run(NO_SPAN);
}

/**
 * Whether anybody has set a tracer up, or hands traces on without one. The API does nothing else, but its way through parents, links and contexts took a
 * seventh of a delivery. A provider that is not the API's own stand-in, or is that of another copy of the API, counts as one.
 */
function isTraced(): boolean {
  if (propagation.fields().length > 0) return true;
  const provider = trace.getTracerProvider();
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(TRACER) !== undefined;
}

/** Takes whatever a span takes, and does nothing with it. */
const NO_SPAN = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

async function runIn<T>(name: string, options: SpanOptions, run: (span: Span) => Promise<T>): Promise<T> {
  const parent = contextOf(options.parent);
  const span = beginIn(parent, name, options);
  try {
    return await context.with(trace.setSpan(parent, span), () => run(span));
  } catch (error) {
    failSpan(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Begins a span that the caller ends. */
export function startSpan(name: string, options: SpanOptions): Span {
  return beginIn(contextOf(options.parent), name, options);
}

function beginIn(parent: Context, name: string, { kind = SpanKind.INTERNAL, links = [], attributes = {} }: SpanOptions): Span {
  const linked = links.flatMap((link) => {
    const found = contextOfSpan(link);
    return found === undefined ? [] : [{ context: found }];
  });
  return trace.getTracer(TRACER).startSpan(name, { kind, links: linked, attributes }, parent);
}

/** Runs something, and all that it starts, with a span active that the caller ends. */
export function runInSpan<T>(span: Span, run: () => T): T {
  return context.with(trace.setSpan(context.active(), span), run);
}

/** Marks a span as failed, by the error's code and what it says; nothing of a payload is in either. */
export function failSpan(span: Span, error: unknown): void {
  span.setAttribute("error.type", errorCodeOf(error));
  span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error, 200) });
}

/** What a span hands on to whom it leads to. */
export function traceContextOf(span: Span): Carrier {
  return carrierOf(trace.setSpan(ROOT_CONTEXT, span));
}

function carrierOf(of: Context): Carrier {
  const carrier: Carrier = {};
  propagation.inject(of, carrier);
  return carrier;
}

const GETTER: TextMapGetter<TraceContext> = {
  keys: () => ["traceparent", "tracestate"],
  get: (carrier, key) => (key === "traceparent" ? carrier.traceparent : key === "tracestate" ? carrier.tracestate : null) ?? undefined,
};

function contextOf(parent: TraceContext | null | undefined): Context {
  if (parent === undefined) return context.active();
  return parent === null ? ROOT_CONTEXT : propagation.extract(ROOT_CONTEXT, parent, GETTER);
}

function contextOfSpan(carrier: TraceContext) {
  return trace.getSpanContext(propagation.extract(ROOT_CONTEXT, carrier, GETTER));
}
