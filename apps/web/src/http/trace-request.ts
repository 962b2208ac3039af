import { runInSpan, type Span, SpanKind, startSpan } from "@toolctrl/tracing/spans";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

const spans = new WeakMap<FastifyRequest, Span>();

/** Serves each request in a span of its caller's trace; what the request publishes continues it. */
export function traceRequests(server: FastifyInstance): void {
  server.addHook("onRequest", beginSpan);
  // A body is read by the connection's events, which know nothing of the span: it is entered again behind them.
  server.addHook("preHandler", (request, _reply, done) => {
    const span = spans.get(request);
    if (span === undefined) done();
    else runInSpan(span, done);
  });
}

/** Named by its route: a path would hold ids. */
function beginSpan(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const { traceparent, tracestate } = request.headers;
  const route = request.routeOptions.url ?? "unknown";
  const span = startSpan(`${request.method} ${route}`, {
    kind: SpanKind.SERVER,
    parent: { traceparent: textOf(traceparent), tracestate: textOf(tracestate) },
    attributes: { "http.request.method": request.method, "http.route": route },
  });
  spans.set(request, span);
  reply.raw.once("close", () => {
    span.setAttribute("http.response.status_code", reply.statusCode);
    span.end();
  });
  done();
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
