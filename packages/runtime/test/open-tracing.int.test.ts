import { activeTraceContext, failSpan, inSpan, startSpan, traceContextOf } from "@toolctrl/tracing/spans";
import { CodedError } from "@toolctrl/foundation/errors";
import { afterEach, expect, test } from "vitest";
import { context, propagation, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { createLogger } from "../src/logger.ts";
import { openTracing } from "../src/open-tracing.ts";
import { startHttpPeer } from "./peers.ts";

afterEach(() => [trace, context, propagation].forEach((api) => api.disable()));

function createLog(): { log: ReturnType<typeof createLogger>; lines: string[] } {
  const lines: string[] = [];
  return { lines, log: createLogger({ app: "test", level: "info", destination: { write: (line) => void lines.push(line) } }) };
}

const startCollector = () => startHttpPeer((_request, response) => void response.end());

const open = (endpoint: string | undefined, ratio: string, { log } = createLog()) =>
  openTracing({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: ratio }, "shop", log);

test("spans reach the collector before the process ends, with the app's name; a log line in a span has its ids", async () => {
  const collector = await startCollector();
  const { log, lines } = createLog();
  const tracing = await open(`${collector.url}/`, "1", { log, lines });
  let traceparent = "";
  await inSpan("work", {}, async (span) => {
    traceparent = traceContextOf(span).traceparent ?? "";
    await inSpan("inner", {}, async () => log.info("here"));
    failSpan(span, new CodedError("HTTP.TIMEOUT", "expected an answer, got none"));
  });
  await tracing.close(5000);
  expect(collector.requests.map(({ path }) => path)).toEqual(["/v1/traces"]);
  const sent = String(collector.requests[0]?.body);
  for (const part of ["toolctrl-shop", '"name":"work"', '"name":"inner"', "HTTP.TIMEOUT"]) expect(sent).toContain(part);
  const [, traceId = ""] = traceparent.split("-");
  expect(lines.find((line) => line.includes('"here"'))).toContain(`"trace_id":"${traceId}"`);
});

test("a trace that was not kept where it began is not kept here, and goes on as such; of those that begin here the asked part is", async () => {
  const collector = await startCollector();
  const tracing = await open(collector.url, "0");
  const left = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00" };
  const span = startSpan("left", { parent: left });
  expect(traceContextOf(span).traceparent).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-\w{16}-00$/);
  span.end();
  startSpan("begun here", { parent: null }).end();
  startSpan("kept there", { parent: { traceparent: left.traceparent.replace(/00$/, "01") } }).end();
  await tracing.close(5000);
  expect(collector.requests.map(({ body }) => [...String(body).matchAll(/"name":"([a-z ]+)"/g)].map(([, name]) => name))).toEqual([
    ["kept there"],
  ]);
});

test("a collector that never answers holds no process beyond its time, and the log says that spans were lost", async () => {
  const collector = await startHttpPeer(() => undefined);
  const { log, lines } = createLog();
  const tracing = await open(collector.url, "1", { log, lines });
  startSpan("work", {}).end();
  await tracing.close(50);
  expect(lines.join("")).toContain("spans were lost");
});

test("without a collector nothing is traced", async () => {
  const tracing = await open(undefined, "1");
  expect(traceContextOf(startSpan("work", {}))).toEqual({});
  await tracing.close(1);
});

test("a process that only hands traces on, without a tracer of its own, still does so through a span", async () => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const parent = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };
  expect(await inSpan("work", { parent }, async () => activeTraceContext())).toMatchObject(parent);
});
