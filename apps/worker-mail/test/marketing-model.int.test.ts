import { setTimeout as after } from "node:timers/promises";
import { liftSuppression, suppressContact } from "@toolctrl/domain/marketing";
import { randomFrom, seedOf } from "@toolctrl/testkit/herd";
import { startHttpPeer, type HttpPeer, type Reply } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, TENANT, type Harness } from "./harness.ts";
import { GRANTED, MARKETING, takeJobs, toldOf, upsertOf } from "./marketing-support.ts";

const CONTACTS = ["a@x.test", "b@x.test", "c@x.test"];
const EVENTS = 30;
const TOGGLES = 6;

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
    await after(20 + random() * 60);
    running.delete(path);
    if (takes < 0.15) return { status: 503 };
    if (takes < 0.3) return "drop";
    const { status, name } = toldOf(request);
    provider.state.set((JSON.parse(text) as { email: string }).email, status === "subscribed" ? `subscribed ${name}` : status);
    return answers < 0.15 ? "drop" : { status: 200 };
  });
  return provider;
}

/** Publishes a random event, and says what it makes of the model: events are published one after the other, so the last word is the youngest. */
async function publish(harness: Harness, model: Map<string, Expected>, random: () => number, index: number): Promise<string> {
  const email = CONTACTS[index % CONTACTS.length] ?? "";
  const known = model.get(email) ?? { name: null, consent: "unknown", suppressed: false };
  model.set(email, known);
  if (random() < 0.2) {
    known.consent = "denied";
    return harness.publish("marketing.lead.unsubscribe", upsertOf({ email }));
  }
  const says = random() < 0.6;
  known.name = `name-${index}`;
  if (says) known.consent = "granted";
  return harness.publish("marketing.lead.upsert", upsertOf({ email, name: known.name, ...(says ? GRANTED : {}) }));
}

/** Suppresses an address, or lifts it, while calls are running. */
async function toggle(harness: Harness, known: Expected, email: string): Promise<void> {
  known.suppressed = !known.suppressed;
  const change = known.suppressed ? suppressContact : liftSuppression;
  await harness.database.prisma.$transaction((tx) => change(tx, { tenantId: TENANT, email, reason: "bounce" }));
  await harness.handOff();
}

test("whatever order events come in, and whatever the provider does, it ends with the youngest of each contact, told by one call at a time", async () => {
  const seed = seedOf("MARKETING_SEED");
  const random = randomFrom(seed);
  const harness = await createHarness({ attempts: 20 });
  const peer = await startHttpPeer();
  const provider = flakyProvider(peer, randomFrom(seed + 1));
  const model = new Map<string, Expected>();
  const ids = [];
  for (let index = 0; index < EVENTS; index += 1) ids.push(await publish(harness, model, random, index));
  const shuffled = (await takeJobs(harness, ids)).map((job) => ({ job, place: random() })).toSorted((a, b) => a.place - b.place);
  await harness.backend.addAll(shuffled.map(({ job }) => job));
  const settings = { maxAttempts: 20, backoffMs: 5 };
  harness.start(harness.marketingSync(peer.port, settings));
  harness.start(harness.marketingSync(peer.port, settings));
  for (let toggles = 0; toggles < TOGGLES; toggles += 1) {
    const [email, known] = [...model][Math.floor(random() * model.size)] ?? [];
    if (email !== undefined && known !== undefined) await toggle(harness, known, email);
  }
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
