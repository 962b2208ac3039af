import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { spawnNode } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { collectedSpans, wayTo, type CollectedSpan } from "./collected-spans.ts";
import { endInOrder } from "./observe.ts";
import { openRig, TENANT, type Rig } from "./rig.ts";
import { addWorkflow, chainOf } from "./workflows.ts";

/** A workflow that calls the webhook's peer when an order comes. */
async function addCaller({ database, http }: Rig): Promise<void> {
  const call = { id: "call", block: "httpRequest", config: { method: "POST", url: `${http.url}/step` } } as const;
  await addWorkflow(
    { database, tenantId: TENANT },
    { name: "tell", trigger: { type: "row", table: "order", on: ["created"] }, ...chainOf([call]) },
  );
}

test.each(["redis", "postgres"] as const)(
  "one trace is read across the publisher, worker-general and worker-mail, down to the mail, the webhook and a workflow's call: on %s",
  async (kind) => {
    const collector = await startHttpPeer();
    const rig = await openRig({ kind, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, LOG_LEVEL: "debug" } });
    await addCaller(rig);
    // The first try of the webhook fails, so that there is a second one.
    let failed = false;
    rig.http.respond(({ path }) => {
      const status = path === "/hook" && !failed ? 500 : 200;
      failed ||= path === "/hook";
      return { status };
    });
    const workers = [await rig.start("general"), await rig.start("mail")];
    const publisher = spawnNode(new URL("./publish-traced.ts", import.meta.url), { env: rig.env });
    const [, traceId = "", checkout = ""] = /00-(\w+)-(\w+)-01/.exec(await publisher.waitForLine(/^published/)) ?? [];
    await waitFor(() => rig.smtp.mails.length === 1 && rig.http.requests.length >= 4, {
      what: "mail, webhooks and call",
      timeoutMs: 30_000,
    });
    // Ending sends what is left.
    await publisher.waitForExit();
    await endInOrder(workers);
    const all = collectedSpans(collector);
    const spans = all.filter((span) => span.traceId === traceId);

    const ways = new Set(spans.map((span) => wayTo(span, spans).join(" > ")));
    const [general, mail] = ["toolctrl-worker-general", "toolctrl-worker-mail"];
    expect(ways).toContain(
      `toolctrl-shop: checkout > ${general}: send outbox.mail > ${mail}: process outbox.mail > ${mail}: process toolctrl.email > ${mail}: SMTP send`,
    );
    expect(ways).toContain(
      `toolctrl-shop: checkout > ${general}: send outbox.webhook > ${mail}: process outbox.webhook > ${mail}: HTTP POST`,
    );
    const step = [...ways].find((way) => way.endsWith(`${general}: step httpRequest > ${general}: HTTP POST`));
    expect(step).toMatch(/^toolctrl-shop: checkout > .*send outbox.workflow > /);
    expectPassedOn(rig, traceId);
    expectLinks(all, spans, checkout);
    const lines = workers.flatMap((worker) => worker.lines().filter((line) => line.includes(`"msg":"delivery ended"`)));
    expect(lines.filter((line) => line.includes(`"trace_id":"${traceId}"`)).length).toBeGreaterThan(3);
  },
);

/** Each call went on with the trace. */
function expectPassedOn({ http }: Rig, traceId: string): void {
  for (const { path, headers } of http.requests) expect(headers["traceparent"], path).toContain(traceId);
}

/** The batches, which are in no one trace, link to what they sent; a second try to what it tries again. */
function expectLinks(all: readonly CollectedSpan[], spans: readonly CollectedSpan[], checkout: string): void {
  const batches = all.filter(({ name }) => name === "hand-off");
  expect(batches.flatMap(({ links }) => links)).toContain(checkout);
  const tries = spans.filter(({ name }) => name === "process outbox.webhook");
  const [second] = tries.filter(({ attributes }) => attributes["toolctrl.try"] === 2);
  expect(second?.links).toEqual([second?.parentSpanId]);
  const [first] = tries.filter((span) => span.parentSpanId === second?.parentSpanId && span.attributes["toolctrl.try"] === 1);
  expect(first?.links).toEqual([]);
}
