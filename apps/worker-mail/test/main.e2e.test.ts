import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { startSmtpPeer } from "@toolctrl/testkit/smtp";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, SECRETS_KEY, type Harness } from "./harness.ts";
import { addEndpoint, PAYLOAD, TYPE, verifies } from "./webhook-support.ts";

const MAIN = new URL("../src/main.ts", import.meta.url);

function startWorker(harness: Harness, smtpPort: number, httpPort: number, env: Record<string, string> = {}): ChildHandle {
  return spawnNode(MAIN, {
    env: {
      NODE_ENV: "test",
      DATABASE_URL: harness.url,
      REDIS_URL: harness.namespace.url,
      QUEUE_PREFIX: harness.namespace.prefix,
      WORKER_QUEUE_GROUP: "mail",
      SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
      MAIL_FROM: "noreply@toolctrl.test",
      WEBHOOK_SECRETS_KEY: SECRETS_KEY,
      OUTBOUND_HTTP_ALLOW: `127.0.0.1:${httpPort}`,
      ...env,
    },
  });
}

/** The address of its health server, once it listens. */
async function healthUrlOf(worker: ChildHandle): Promise<string> {
  const line = await worker.waitForLine(/health server listens/);
  return `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`;
}

test.each(["redis", "postgres"] as const)(
  "on %s the app sends mail and webhooks, tells its readiness and numbers, and ends with 0 on SIGTERM",
  async (kind) => {
    const harness = await createHarness({ kind });
    const [smtp, peer] = await Promise.all([startSmtpPeer(), startHttpPeer()]);
    const { secret } = await addEndpoint(harness, `${peer.url}/hook`);
    const worker = startWorker(harness, smtp.port, peer.port, { QUEUE_BACKEND: kind });
    const health = await healthUrlOf(worker);
    await waitFor(async () => (await fetch(`${health}/readyz`)).ok);
    const mail = await harness.publish("mail.message.send", { to: "ann@example.test", subject: "Hi", text: "Hello" });
    const webhook = await harness.publish(TYPE, PAYLOAD);
    await harness.untilReceipt(mail, "email-send");
    await harness.untilReceipt(webhook, "webhook-deliver");
    expect(smtp.mails.map(({ messageId }) => messageId)).toEqual([`<${mail}.0@toolctrl.test>`]);
    expect(peer.requests.map((request) => verifies(request, secret))).toEqual([true]);
    expect(await (await fetch(`${health}/metrics`)).text()).toContain(
      'outbox_consumer_deliveries_total{consumer="email-send",outcome="done"} 1',
    );
    worker.kill("SIGTERM");
    expect(await worker.waitForExit()).toEqual({ code: 0, signal: null });
  },
);

test("told to stop in the middle of a send, the app waits for the server's answer before it ends", async () => {
  const harness = await createHarness();
  const [smtp, peer] = await Promise.all([startSmtpPeer({ behaviour: { kind: "drip", pauseMs: 10 } }), startHttpPeer()]);
  const worker = startWorker(harness, smtp.port, peer.port);
  await healthUrlOf(worker);
  const id = await harness.publish("mail.message.send", { to: "ann@example.test", subject: "Hi", text: "Hello" });
  await waitFor(async () => (await harness.intents(id))[0]?.state === "sending");
  worker.kill("SIGTERM");
  expect(await worker.waitForExit()).toEqual({ code: 0, signal: null });
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 1, unknowns: 0 }]);
  expect(await harness.receipts(id)).toMatchObject([
    { consumer: "email-send", outcome: "done" },
    { consumer: "mail-render", outcome: "done" },
  ]);
  expect(smtp.mails).toHaveLength(1);
});

test("a bad environment stops the boot with every problem", async () => {
  const harness = await createHarness();
  const worker = startWorker(harness, 1, 1, { WORKER_QUEUE_GROUP: "general", WEBHOOK_SECRETS_KEY: "short" });
  expect((await worker.waitForExit()).code).not.toBe(0);
  expect(worker.stderr()).toContain("- WORKER_QUEUE_GROUP: expected mail");
  expect(worker.stderr()).toContain("- WEBHOOK_SECRETS_KEY: expected 32 bytes in base64");
});
