import { BULLMQ_BACKGROUND, crashPoints, type CrashPointRun } from "@toolctrl/testkit/crash-run";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { startSmtpPeer } from "@toolctrl/testkit/smtp";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { runBounded } from "../src/webhooks/run-bounded.ts";
import { CRASH_TIMES } from "./crash-times.ts";
import { createHarness, type Harness } from "./harness.ts";
import { addEndpoint, PAYLOAD, TYPE } from "./webhook-support.ts";

const WORKER = new URL("crash-worker.ts", import.meta.url);
/** Each has a database, a queue and peers of its own; they mostly wait for locks to run out. */
const AT_ONCE = 4;

type World = { harness: Harness; smtp: Awaited<ReturnType<typeof startSmtpPeer>>; peer: Awaited<ReturnType<typeof startHttpPeer>> };

interface Journey {
  publish(world: World): Promise<string>;
  /** The consumers whose receipts say that the event had all its effects. */
  readonly consumers: readonly string[];
  /** The effects the outside saw, by the id each carried. */
  seen(world: World): string[];
  expectedId(eventId: string): string;
}

const MAIL: Journey = {
  publish: ({ harness }) => harness.publish("mail.message.send", { to: "ann@example.test", subject: "Hi", text: "Hello" }),
  consumers: ["mail-render", "email-send"],
  seen: ({ smtp }) => smtp.mails.map(({ messageId }) => messageId),
  expectedId: (eventId) => `<${eventId}.0@mail.toolctrl.test>`,
};

const WEBHOOK: Journey = {
  async publish({ harness, peer }) {
    await addEndpoint(harness, `${peer.url}/hook`);
    return harness.publish(TYPE, PAYLOAD);
  },
  consumers: ["webhook-deliver"],
  seen: ({ peer }) => peer.requests.map(({ headers }) => String(headers["webhook-id"])),
  expectedId: (eventId) => eventId,
};

async function createWorld(): Promise<World> {
  const [harness, smtp, peer] = await Promise.all([createHarness(CRASH_TIMES), startSmtpPeer(), startHttpPeer()]);
  return { harness, smtp, peer };
}

function spawnWorker(world: World, afterCall?: number): { child: ChildHandle; run: CrashPointRun } {
  const { harness, smtp, peer } = world;
  const portOf = (url: string): number => Number(new URL(url).port);
  const run = crashPoints({
    ports: { [portOf(harness.url)]: "sql", [portOf(harness.namespace.url)]: "redis", [smtp.port]: "smtp", [peer.port]: "http" },
    ignore: BULLMQ_BACKGROUND,
    ...(afterCall === undefined ? {} : { afterCall }),
  });
  const env = {
    DATABASE_URL: harness.url,
    REDIS_URL: harness.namespace.url,
    PREFIX: harness.namespace.prefix,
    SMTP_PORT: String(smtp.port),
    HTTP_PORT: String(peer.port),
  };
  return { child: spawnNode(WORKER, { nodeArgs: run.nodeArgs, env: { ...env, ...run.env } }), run };
}

async function countCalls(journey: Journey): Promise<string[]> {
  const world = await createWorld();
  const { child, run } = spawnWorker(world);
  await child.waitForLine(/^ready$/);
  const id = await journey.publish(world);
  for (const consumer of journey.consumers) await world.harness.untilReceipt(id, consumer);
  await world.harness.untilIdle("outbox.mail", "toolctrl.email", "outbox.webhook");
  child.kill("SIGTERM");
  await child.waitForExit();
  return run.calls();
}

/** Ends a worker right after its k-th call, lets another one recover, and compares what the outside saw with what is recorded. */
async function crashAfter(journey: Journey, k: number): Promise<void> {
  const world = await createWorld();
  const { harness } = world;
  const { child } = spawnWorker(world, k);
  await child.waitForLine(/^ready$/);
  const id = await journey.publish(world);
  await child.waitForLine(new RegExp(`^crash point ${k}:`));
  await child.waitForExit();
  harness.start(
    harness.mailRender(),
    harness.emailSend(world.smtp.port, CRASH_TIMES.deadlineMs),
    harness.webhookDeliver([world.peer.port], { deadlineMs: CRASH_TIMES.deadlineMs }),
  );
  for (const consumer of journey.consumers) await harness.untilReceipt(id, consumer);
  await harness.untilIdle("outbox.mail", "toolctrl.email", "outbox.webhook");
  const why = `crash after call ${k}: ${child.stderr()}`;
  const seen = journey.seen(world);
  const [intent, ...others] = await harness.intents(id);
  expect(others, why).toEqual([]);
  expect(intent, why).toMatchObject({ state: "sent" });
  expect(new Set(seen), why).toEqual(new Set([journey.expectedId(id)]));
  // One effect more than is recorded as unknown would be a silent double; one less is only caution.
  expect(seen.length, why).toBeLessThanOrEqual(1 + (intent?.unknowns ?? 0));
  expect(
    (await harness.receipts(id)).map(({ consumer, outcome }) => `${consumer} ${outcome}`),
    why,
  ).toEqual([...journey.consumers].sort().map((name) => `${name} done`));
}

test.each([
  ["mail", MAIL, 20],
  ["webhook", WEBHOOK, 10],
] as const)(
  "%s: ended after any of its calls, the effect is there once, or repeated under the same id and recorded as unknown",
  { timeout: 300_000 },
  async (_name, journey, least) => {
    const calls = await countCalls(journey);
    expect(calls.length).toBeGreaterThan(least);
    const points = calls.map((_call, index) => index + 1);
    await runBounded(points, AT_ONCE, (k) => crashAfter(journey, k));
  },
);

test("a worker killed while the mail server keeps its answer back: the mail is repeated once, and recorded as unknown", async () => {
  const world = await createWorld();
  const { harness, smtp } = world;
  smtp.setBehaviour({ kind: "swallow" });
  const { child } = spawnWorker(world);
  await child.waitForLine(/^ready$/);
  const id = await MAIL.publish(world);
  await waitFor(() => smtp.mails.length === 1);
  child.kill("SIGKILL");
  await child.waitForExit();
  smtp.setBehaviour({ kind: "accept" });
  harness.start(harness.emailSend(smtp.port, CRASH_TIMES.deadlineMs));
  await harness.untilReceipt(id, "email-send");
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", unknowns: 1 }]);
  expect(smtp.mails.map(({ messageId }) => messageId)).toEqual([MAIL.expectedId(id), MAIL.expectedId(id)]);
});
