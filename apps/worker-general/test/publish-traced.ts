// A product's process that traces: what it publishes stands in the trace of what it was doing.
import { createDatabase } from "@toolctrl/db/client";
import { publishOutboxEvents } from "@toolctrl/db/outbox";
import { rowCreate } from "@toolctrl/domain/rows";
import { activeTraceContext, inSpan } from "@toolctrl/tracing/spans";
import { createLogger } from "@toolctrl/runtime/logger";
import { openTracing } from "@toolctrl/runtime/open-tracing";

const tenantId = "acme";
const env = { OTEL_EXPORTER_OTLP_ENDPOINT: process.env["OTEL_EXPORTER_OTLP_ENDPOINT"], OTEL_TRACES_SAMPLER_ARG: "1" };
const tracing = await openTracing(env, "shop", createLogger({ app: "shop", level: "silent" }));
const database = await createDatabase({ url: process.env["DATABASE_URL"] ?? "", poolMax: 1, app: "shop" });
await inSpan("checkout", { parent: null }, async () => {
  await database.prisma.$transaction(async (tx) => {
    await publishOutboxEvents(tx, [
      { tenantId, type: "mail.message.send", payload: { to: "ann@example.test", subject: "Thanks", text: "Hello" } },
      { tenantId, type: "webhook.invoice.paid", payload: { invoice: 7 } },
    ]);
    await rowCreate(tx, { tenantId, table: "order", data: {}, context: { kind: "request", actor: "ann" } });
  });
  process.stdout.write(`published ${JSON.stringify(activeTraceContext())}\n`);
});
await database.close();
await tracing.close(5000);
