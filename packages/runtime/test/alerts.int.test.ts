import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CodedError } from "@toolctrl/foundation/errors";
import { gunzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAlerts } from "../src/alerts.ts";
import { createLogger } from "../src/logger.ts";

type SentryEvent = {
  message?: string;
  fingerprint?: string[];
  level?: string;
  extra?: Record<string, unknown>;
  tags?: Record<string, string>;
  exception?: { values: Array<{ value: string }> };
};

/** A real HTTP server in the place of Sentry. */
async function startSentry(answer = true): Promise<{ dsn: string; raw: string[]; events(): SentryEvent[]; arrived(): Promise<void> }> {
  const raw: string[] = [];
  const first = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      raw.push((request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString());
      first.resolve();
      if (answer) response.end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  // An envelope is lines of JSON: its header, then a header and a body for each item.
  const parse = (envelope: string): SentryEvent => JSON.parse(envelope.split("\n")[2] ?? "{}") as SentryEvent;
  return { dsn: `http://public@127.0.0.1:${port}/1`, raw, events: () => raw.map(parse), arrived: () => first.promise };
}

function capture(): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  return { lines, log: createLogger({ app: "test", level: "info", destination: { write: (line: string) => void lines.push(line) } }) };
}

describe("createAlerts", () => {
  test("an unroutable event reaches Sentry with its fingerprint and facts", async () => {
    const sentry = await startSentry();
    const alerts = createAlerts({ dsn: sentry.dsn, app: "worker-general", log: capture().log });
    alerts.unroutable("leads.lead.created", { eventId: "e-1", tenantId: "t-1" });
    await alerts.close(5000);
    expect(sentry.events()).toEqual([
      expect.objectContaining({
        message: "No route for event type leads.lead.created",
        level: "error",
        fingerprint: ["outbox-unroutable", "leads.lead.created"],
        tags: { eventType: "leads.lead.created", app: "worker-general" },
        extra: { eventId: "e-1", tenantId: "t-1", suppressed: 0 },
      }),
    ]);
  });

  test("a flood of one type is one alert; another type is its own", async () => {
    const sentry = await startSentry();
    const alerts = createAlerts({ dsn: sentry.dsn, app: "test", log: capture().log });
    for (let n = 0; n < 500; n += 1) alerts.unroutable("a.b.c", { n });
    alerts.unroutable("a.b.d", {});
    await alerts.close(5000);
    expect(new Set(sentry.events().map((event) => event.fingerprint?.[1]))).toEqual(new Set(["a.b.c", "a.b.d"]));
    expect(sentry.events()).toHaveLength(2);
  });

  test("an error arrives grouped by its code, with its facts and nothing of what surrounds the call", async () => {
    const sentry = await startSentry();
    const alerts = createAlerts({ dsn: sentry.dsn, app: "test", log: capture().log });
    const payload = { card: "4111-1111" };
    const fail = (data: unknown): CodedError => new CodedError("DB.POOL_TIMEOUT", "expected a connection", { facts: { waiting: 3, data } });
    alerts.error(fail(payload), { consumer: "mail-render" });
    await alerts.close(5000);
    const [event] = sentry.events();
    expect(event?.fingerprint).toEqual(["{{ default }}", "DB.POOL_TIMEOUT"]);
    expect(event?.exception?.values[0]?.value).toBe("expected a connection");
    expect(event?.extra).toEqual({ consumer: "mail-render", suppressed: 0 });
    expect(sentry.raw.join()).not.toContain("4111-1111");
  });

  test("without a DSN an alert is a log line, and closing has nothing to wait for", async () => {
    const { lines, log } = capture();
    const alerts = createAlerts({ app: "test", log });
    alerts.unroutable("a.b.c", { eventId: "e-1" });
    alerts.error(new Error("boom"), {});
    await alerts.close(0);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      expect.objectContaining({ level: "error", type: "a.b.c", eventId: "e-1" }),
      expect.objectContaining({ level: "error", err: expect.objectContaining({ message: "boom" }) }),
    ]);
  });

  test("a DSN that is no DSN is logged and nothing is thrown", async () => {
    const { lines, log } = capture();
    const alerts = createAlerts({ dsn: "http://127.0.0.1:1/no-key", app: "test", log });
    alerts.unroutable("a.b.c", {});
    await alerts.close(2000);
    expect(lines.join()).toContain("expected a Sentry DSN");
  });

  test("closing ends within its time although Sentry never answers", async () => {
    const sentry = await startSentry(false);
    const alerts = createAlerts({ dsn: sentry.dsn, app: "test", log: capture().log });
    alerts.unroutable("a.b.c", {});
    await sentry.arrived();
    await expect(alerts.close(50)).resolves.toBeUndefined();
  });
});
