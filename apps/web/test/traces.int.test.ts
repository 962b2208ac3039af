import { createLogger } from "@toolctrl/runtime/logger";
import { openTracing } from "@toolctrl/runtime/open-tracing";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { expect, test } from "vitest";
import { openWeb } from "./support.ts";

test("a request goes on with its caller's trace: what it publishes stands in it, and its span is named by the route, without ids", async () => {
  const collector = await startHttpPeer();
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: "1" };
  const tracing = await openTracing(env, "web", createLogger({ app: "web", level: "silent" }));
  const web = await openWeb();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  const { status, body } = await web.call("POST", "/api/tables/order/rows", { data: { big: "x".repeat(100_000) } }, { headers });
  expect(status).toBe(201);
  const { id } = (body as unknown as { row: { id: string } }).row;
  expect((await web.call("PATCH", `/api/tables/order/rows/${id}`, { data: { n: 1 } }, { headers })).status).toBe(200);
  const { rows } = await web.database.pool.query<{ traceparent: string | null }>(`SELECT "traceparent" FROM "OutboxEvent"`);
  expect(rows.length).toBeGreaterThan(2);
  for (const { traceparent } of rows) expect(traceparent).toMatch(new RegExp(`^00-${traceId}-(?!b7ad6b7169203331)`));
  await tracing.close(5000);
  const sent = collector.requests.map(({ text }) => text).join("");
  for (const name of ["POST /api/tables/:table/rows", "PATCH /api/tables/:table/rows/:id"]) expect(sent).toContain(`"name":"${name}"`);
  expect(sent).not.toContain(id);
});
