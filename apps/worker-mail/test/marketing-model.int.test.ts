import { setTimeout as after } from "node:timers/promises";
import { liftSuppression, suppressContact } from "@toolctrl/domain/marketing";
import { randomFrom, seedOf } from "@toolctrl/testkit/herd";
import { startHttpPeer, type HttpPeer, type Reply } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, TENANT, type Harness } from "./harness.ts";
import { GRANTED, MARKETING, toldOf, upsertOf } from "./marketing-support.ts";

const CONTACTS = ["a@x.test", "b@x.test", "c@x.test"];
const EVENTS = 36;

const UNFINISHED = `SELECT 1 FROM "OutboxEvent" e WHERE NOT EXISTS (
  SELECT 1 FROM "OutboxReceipt" r WHERE r."eventId" = e."id" AND r."consumer" = '${MARKETING}' AND r."outcome" = 'done')`;
const CALLS_OVER = `UPDATE "MarketingContact" SET "callUntil" = NULL
  WHERE "callIntentId" IN (SELECT "id" FROM "OutboxIntent" WHERE "state" <> 'sending')`;

interface Expected {
  name: string | null;
  consent: string;
  suppressed: boolean;
}

/** A provider that is slow, busy, or loses its answers, before or after it took what it was told; it has no idea of what is older. */
function flakyProvider(peer: HttpPeer, random: () => number): { readonly state: Map<string, string>; overlaps: number } {
  const provider = { state: new Map<string, string>(), overlaps: 0 };
  const running = new Set<string>();
  peer.respond(async (request): Promise<Reply> => {
    const { path, text } = request;
    if (running.has(path)) provider.overlaps += 1;
    running.add(path);
    const [takes, answers] = [random(), random()];
    await after(random() * 15);
    running.delete(path);
    if (takes < 0.15) return { status: 503 };
    if (takes < 0.3) return "drop";
    const { status, name } = toldOf(request);
    provider.state.set((JSON.parse(text) as { email: string }).email, status === "subscribed" ? `subscribed ${name}` : status);
    return answers < 0.15 ? "drop" : { status: 200 };
  });
  return provider;
}

/** One random event, and what it makes of the model; events are published one after the other, so the last word is the youngest. */
async function step(harness: Harness, model: Map<string, Expected>, random: () => number, index: number): Promise<void> {
  const email = CONTACTS[Math.floor(random() * CONTACTS.length)] ?? "";
  const known = model.get(email) ?? { name: null, consent: "unknown", suppressed: false };
  model.set(email, known);
  const { prisma } = harness.database;
  const dice = random();
  if (dice < 0.1) {
    await prisma.$transaction((tx) => suppressContact(tx, { tenantId: TENANT, email, reason: "bounce" }));
    known.suppressed = true;
  } else if (dice < 0.25) {
    await prisma.$transaction((tx) => liftSuppression(tx, { tenantId: TENANT, email }));
    known.suppressed = false;
  } else if (dice < 0.4) {
    await harness.publish("marketing.lead.unsubscribe", upsertOf({ email }));
    known.consent = "denied";
  } else {
    const says = random() < 0.6;
    const name = `name-${index}`;
    await harness.publish("marketing.lead.upsert", upsertOf({ email, name, ...(says ? GRANTED : {}) }));
    Object.assign(known, { name, ...(says ? { consent: "granted" } : {}) });
  }
  await harness.handOff();
}

test("whatever two workers and the provider do meanwhile, the provider ends with the youngest of each contact", async () => {
  const seed = seedOf("MARKETING_SEED");
  const random = randomFrom(seed);
  const harness = await createHarness({ attempts: 20 });
  const peer = await startHttpPeer();
  const provider = flakyProvider(peer, randomFrom(seed + 1));
  const model = new Map<string, Expected>();
  const settings = { deadlineMs: 10_000, maxAttempts: 20, backoffMs: 5 };
  // A head start of the events, so that many of one contact are in the workers' hands at once.
  for (let index = 0; index < EVENTS / 3; index += 1) await step(harness, model, random, index);
  harness.start(harness.marketingSync(peer.port, settings));
  harness.start(harness.marketingSync(peer.port, settings));
  for (let index = EVENTS / 3; index < EVENTS; index += 1) await step(harness, model, random, index);
  await waitFor(
    async () => {
      // As time would: a call whose answer was lost is over.
      await harness.database.pool.query(CALLS_OVER);
      return (await harness.database.pool.query(UNFINISHED)).rowCount === 0;
    },
    { what: "every event to be finished", timeoutMs: 60_000 },
  );
  for (const [email, { name, consent, suppressed }] of model) {
    const expected = consent === "granted" && !suppressed ? `subscribed ${name}` : "unsubscribed";
    // One that was never subscribed, and never said no, need not be known there.
    expect(provider.state.get(email) ?? "unsubscribed", `${email}, seed ${seed}`).toBe(expected);
  }
  expect(provider.overlaps, `calls of one contact at once, seed ${seed}`).toBe(0);
});
