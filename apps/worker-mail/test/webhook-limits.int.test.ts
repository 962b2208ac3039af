import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { expect, test } from "vitest";
import { createHarness } from "./harness.ts";
import { addEndpoint, PAYLOAD, startWebhooks, TYPE } from "./webhook-support.ts";

test.each([
  "http://[::ffff:127.0.0.1]:PORT/",
  "http://0x7f000001:PORT/",
  "http://2130706433:PORT/",
  "http://127.1:PORT/",
  "http://0:PORT/",
  "http://0177.0.0.1:PORT/",
  "http://\uFF11\uFF12\uFF17.0.0.1:PORT/",
  "http://169.254.169.254/latest/meta-data/",
  "http://localhost:PORT/",
])("%s is refused before anything is connected to", async (template) => {
  const harness = await createHarness();
  const inner = await startHttpPeer();
  // Nothing is allowed here, so every way to loopback is a way in.
  harness.start(harness.webhookDeliver([]));
  await addEndpoint(harness, template.replace("PORT", String(inner.port)));
  const id = await harness.publish(TYPE, PAYLOAD);
  const receipt = await harness.untilReceipt(id, "webhook-deliver", "dead");
  expect(receipt.detail).toContain("HTTP.BLOCKED_ADDRESS");
  expect(inner.requests).toHaveLength(0);
});

test("an endpoint that drips its answer for ever holds its job no longer than the deadline; its status has come and decides", async () => {
  const { harness, peer } = await startWebhooks({ deadlineMs: 500 });
  await addEndpoint(harness, `${peer.url}/drip`);
  peer.respond((_request, _index, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const timer = setInterval(() => response.write("x"), 50);
    response.once("close", () => clearInterval(timer));
    return "handled";
  });
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  expect(peer.requests).toHaveLength(1);
});

test("an answer of 50 MB is cut off: its rest is neither read nor kept", async () => {
  const { harness, peer } = await startWebhooks();
  await addEndpoint(harness, `${peer.url}/flood`);
  let written = 0;
  peer.respond((_request, _index, response) => {
    const chunk = Buffer.alloc(64 * 1024, "x");
    response.writeHead(200, { "content-type": "text/plain" });
    const pump = (): void => {
      while (written < 50 * 1024 * 1024 && !response.destroyed) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", pump);
      }
      response.end();
    };
    pump();
    return "handled";
  });
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  expect(written).toBeLessThan(20 * 1024 * 1024);
});
