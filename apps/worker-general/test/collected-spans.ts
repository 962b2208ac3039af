import type { HttpPeer } from "@toolctrl/testkit/http-peer";

/** A span as a collector got it. */
export interface CollectedSpan {
  readonly app: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly failed: boolean;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** Ids of the spans it links to. */
  readonly links: readonly string[];
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

interface OtlpRequest {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: ReadonlyArray<{ readonly spans: readonly OtlpSpan[] }>;
  }>;
}

interface OtlpSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status?: { readonly code?: number };
  readonly attributes?: readonly OtlpAttribute[];
  readonly links?: ReadonlyArray<{ readonly spanId: string }>;
}

/** What a peer was sent as an OTLP collector. */
export function collectedSpans(collector: HttpPeer): CollectedSpan[] {
  const requests = collector.requests.filter(({ path }) => path === "/v1/traces").map(({ text }) => JSON.parse(text) as OtlpRequest);
  return requests.flatMap(({ resourceSpans }) =>
    resourceSpans.flatMap(({ resource, scopeSpans }) => {
      const app = String(attributesOf(resource.attributes)["service.name"]);
      return scopeSpans.flatMap(({ spans }) => spans.map((span) => collected(app, span)));
    }),
  );
}

function collected(app: string, { name, traceId, spanId, parentSpanId, status, attributes = [], links = [] }: OtlpSpan): CollectedSpan {
  const failed = status?.code === 2;
  return {
    app,
    name,
    traceId,
    spanId,
    parentSpanId,
    failed,
    attributes: attributesOf(attributes),
    links: links.map((link) => link.spanId),
  };
}

function attributesOf(attributes: readonly OtlpAttribute[]): Record<string, string | number> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
}

/** The way from the first span of a trace to this one: "app: name" of each. */
export function wayTo(span: CollectedSpan, spans: readonly CollectedSpan[]): string[] {
  const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
  return [...(parent === undefined ? [] : wayTo(parent, spans)), `${span.app}: ${span.name}`];
}
