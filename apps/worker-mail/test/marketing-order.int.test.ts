import { liftSuppression, suppressContact } from "@toolctrl/domain/marketing";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, TENANT, type Harness } from "./harness.ts";
import {
  contactOf,
  EMAIL,
  GRANTED,
  heldReply,
  MARKETING,
  startMarketing,
  takeJobs,
  toldOf,
  untilDelayed,
  upsertOf,
} from "./marketing-support.ts";

const UNSUBSCRIBED = expect.objectContaining({ status: "unsubscribed" }) as unknown;

/** Suppresses in a transaction of the product's own, and hands off what it publishes. */
async function suppress(harness: Harness, reason = "hard bounce"): Promise<boolean> {
  const made = await harness.database.prisma.$transaction((tx) => suppressContact(tx, { tenantId: TENANT, email: EMAIL, reason }));
  await harness.handOff();
  return made;
}

/** Publishes events without a worker, then makes their jobs in the order given. */
async function publishAll(
  harness: Harness,
  events: ReadonlyArray<[type: string, fields: Parameters<typeof upsertOf>[0]]>,
): Promise<string[]> {
  const ids = [];
  for (const [type, fields] of events) ids.push(await harness.publish(type, upsertOf(fields)));
  return ids;
}

test("events of one contact that come in the wrong order: the youngest stays, an older consent does not return, and nothing older is told", async () => {
  const harness = await createHarness();
  const peer = await startHttpPeer();
  const [first = "", second = "", third = ""] = await publishAll(harness, [
    ["marketing.lead.upsert", { ...GRANTED, name: "First" }],
    ["marketing.lead.unsubscribe", {}],
    ["marketing.lead.upsert", { name: "Third" }],
  ]);
  const jobs = await takeJobs(harness, [third, second, first]);
  harness.start(harness.marketingSync(peer.port));
  for (const [index, id] of [third, second, first].entries()) {
    await harness.backend.addAll(jobs.slice(index, index + 1));
    await harness.untilReceipt(id, MARKETING);
  }
  expect(await contactOf(harness)).toMatchObject({ name: "Third", consent: "denied", owedBy: null });
  expect(peer.requests.map((request) => toldOf(request))).toEqual([{ key: second, status: "unsubscribed", revision: 2, name: null }]);
});

test("an event that comes while an older one's call is running waits for its end, uses no attempt, and is told after it", async () => {
  const { harness, peer } = await startMarketing();
  // A second worker, in which the younger event may be.
  harness.start(harness.marketingSync(peer.port));
  const held = heldReply();
  peer.respond((_request, index) => (index === 0 ? held.reply : { status: 200 }));
  const older = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Older" }));
  await peer.nextRequest();
  const younger = await harness.publish("marketing.lead.unsubscribe", upsertOf());
  await untilDelayed(harness);
  expect(await contactOf(harness)).toMatchObject({ consent: "denied", owedBy: younger });
  expect(peer.requests).toHaveLength(1);
  held.release();
  for (const id of [older, younger]) await harness.untilReceipt(id, MARKETING);
  expect(peer.requests.map((request) => toldOf(request))).toEqual([
    { key: older, status: "subscribed", revision: 1, name: "Older" },
    { key: younger, status: "unsubscribed", revision: 2, name: null },
  ]);
  await harness.untilIdle("outbox.marketing");
  expect(await harness.backend.find("outbox.marketing", jobIdFor(younger))).toMatchObject({ state: "completed", failures: 0 });
});

test("an event that waits to be tried again tells nothing any more once a younger one is there", async () => {
  const { harness, peer } = await startMarketing({ backoffMs: 60_000 });
  peer.respond((_request, index) => ({ status: index === 0 ? 503 : 200 }));
  const older = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Older" }));
  await untilDelayed(harness);
  const younger = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Younger" }));
  await harness.untilReceipt(younger, MARKETING);
  await harness.database.pool.query(`UPDATE "OutboxIntent" SET "notBefore" = NULL WHERE "eventId" = $1`, [older]);
  await harness.redeliver("outbox.marketing", jobIdFor(older));
  await harness.untilReceipt(older, MARKETING);
  expect(peer.requests.map((request) => toldOf(request).name)).toEqual(["Older", "Younger"]);
  expect(await harness.intents(older)).toMatchObject([{ state: "sent", attempts: 1 }]);
});

test("after an answer that was lost, others wait until that call cannot be running any more", async () => {
  const { harness, peer } = await startMarketing({ backoffMs: 60_000 });
  peer.respond((_request, index) => (index === 0 ? "drop" : { status: 200 }));
  const older = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Older" }));
  await waitFor(async () => (await harness.intents(older))[0]?.state === "unknown");
  const younger = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Younger" }));
  await untilDelayed(harness, 2);
  expect(peer.requests).toHaveLength(1);
  // As time would.
  await harness.database.pool.query(`UPDATE "MarketingContact" SET "callUntil" = clock_timestamp()`);
  await harness.untilReceipt(younger, MARKETING);
  expect(peer.requests.map((request) => toldOf(request).name)).toEqual(["Older", "Younger"]);
});

test("a call that ends after a younger event's call, as its process stood still: the contact is told once more, as it is", async () => {
  const { harness, peer } = await startMarketing();
  const held = heldReply();
  peer.respond((_request, index) => (index === 0 ? held.reply : { status: 200 }));
  const older = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Older" }));
  await peer.nextRequest();
  // As time would, while the older event's process stands still.
  await harness.database.pool.query(`UPDATE "MarketingContact" SET "callUntil" = clock_timestamp()`);
  const younger = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Younger" }));
  await harness.untilReceipt(younger, MARKETING);
  held.release();
  await harness.untilReceipt(older, MARKETING);
  await harness.handOff();
  await waitFor(() => peer.requests.length === 3);
  const [, , again] = peer.requests.map((request) => toldOf(request));
  expect(again).toMatchObject({ status: "subscribed", revision: 2, name: "Younger" });
  expect([older, younger]).not.toContain(again?.key);
});

test("a call that ends after it was given up settles nothing: it is repeated as it was, and the contact is told once more", async () => {
  const { harness, peer } = await startMarketing();
  const held = heldReply();
  peer.respond((_request, index) => (index === 0 ? held.reply : { status: 200 }));
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await peer.nextRequest();
  // What another delivery does that finds the call begun, and its time over.
  await harness.database.pool.query(
    `UPDATE "OutboxIntent" SET "state" = 'unknown', "token" = NULL, "sendingSince" = NULL, "unknowns" = 1 WHERE "eventId" = $1`,
    [id],
  );
  held.release();
  await harness.untilReceipt(id, MARKETING);
  await harness.handOff();
  await waitFor(() => peer.requests.length === 3);
  const keys = peer.requests.map((request) => toldOf(request).key);
  const { rows } = await harness.database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" WHERE "causationId" = $1`, [id]);
  expect(keys).toEqual([id, id, rows[0]?.id]);
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 1 }]);
});

test("a suppressed address is never put as subscribed, and is told when it is not suppressed any more", async () => {
  const { harness, peer } = await startMarketing();
  expect([await suppress(harness), await suppress(harness)]).toEqual([true, false]);
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await harness.untilReceipt(id, MARKETING);
  expect(await contactOf(harness)).toMatchObject({ consent: "granted", toldStatus: null });
  await harness.untilIdle("outbox.marketing");
  expect(peer.requests).toHaveLength(0);
  await harness.database.prisma.$transaction((tx) => liftSuppression(tx, { tenantId: TENANT, email: EMAIL.toUpperCase() }));
  await harness.handOff();
  await peer.nextRequest();
  expect(peer.requests.map((request) => toldOf(request).status)).toEqual(["subscribed"]);
});

test("a suppression that comes between the contact's commit and the call is honoured", async () => {
  const { harness, peer } = await startMarketing();
  const { pool, prisma } = harness.database;
  const id = await prisma.$transaction(
    async (tx) => {
      // Where the call is begun, suppressions are read: the event gets so far, and no further.
      await tx.$executeRaw`LOCK TABLE "MarketingSuppression" IN ACCESS EXCLUSIVE MODE`;
      const published = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
      await waitFor(
        async () =>
          (await pool.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)).rowCount ===
          1,
        { what: "the event to come to the suppressions" },
      );
      expect(await contactOf(harness)).toMatchObject({ consent: "granted", owedBy: published });
      await suppressContact(tx, { tenantId: TENANT, email: EMAIL, reason: "complaint" });
      return published;
    },
    { timeout: 30_000 },
  );
  await harness.untilReceipt(id, MARKETING);
  await harness.handOff();
  await harness.untilIdle("outbox.marketing");
  expect(peer.requests).toHaveLength(0);
});

test("a suppression that comes while a call is running is told after it; one that comes between two tries ends them", async () => {
  const { harness, peer } = await startMarketing({ backoffMs: 60_000 });
  const held = heldReply();
  peer.respond((_request, index) => (index === 0 ? held.reply : { status: 200 }));
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await peer.nextRequest();
  await suppress(harness);
  await untilDelayed(harness);
  held.release(503);
  await waitFor(() => peer.requests.length === 2);
  expect(peer.requests.map((request) => toldOf(request))).toEqual([
    expect.objectContaining({ status: "subscribed", key: id }),
    UNSUBSCRIBED,
  ]);
  await harness.database.pool.query(`UPDATE "OutboxIntent" SET "notBefore" = NULL WHERE "eventId" = $1`, [id]);
  await harness.redeliver("outbox.marketing", jobIdFor(id));
  await harness.untilReceipt(id, MARKETING);
  expect(peer.requests).toHaveLength(2);
});

test("tenants never share a contact or a suppression", async () => {
  const { harness, peer } = await startMarketing();
  await suppress(harness);
  const ours = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Ours" }));
  const theirs = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, name: "Theirs" }), "rival");
  for (const id of [ours, theirs]) await harness.untilReceipt(id, MARKETING);
  expect((await contactOf(harness)).name).toBe("Ours");
  expect((await contactOf(harness, EMAIL, "rival")).name).toBe("Theirs");
  expect(peer.requests.map(({ text }) => JSON.parse(text) as unknown)).toMatchObject([{ tenant: "rival", name: "Theirs" }]);
});
