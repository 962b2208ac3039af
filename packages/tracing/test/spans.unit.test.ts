import { expect, test } from "vitest";
import { activeTraceContext, activeTraceIds, inSpan, startSpan, traceContextOf } from "../src/spans.ts";

const PARENT = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };

test("where nobody traces, nothing is handed on, and what runs in a span runs as it would without one", async () => {
  expect(await inSpan("work", { parent: PARENT, links: [PARENT] }, async () => [activeTraceContext(), activeTraceIds()])).toEqual([{}, {}]);
  await expect(inSpan("work", {}, () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  const span = startSpan("work", { parent: { traceparent: "no context at all", tracestate: null } });
  expect(traceContextOf(span)).toEqual({});
  span.end();
});
