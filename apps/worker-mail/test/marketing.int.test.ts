import { jobIdFor } from "@toolctrl/queue/job-id";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, losingItsDeaths, makeDue, TENANT } from "./harness.ts";
import { contactOf, GRANTED, MARKETING, startMarketing, toldOf, upsertOf } from "./marketing-support.ts";

test("a person who said yes is kept, and put to the provider with all it needs; the provider's id is kept too", async () => {
  const { harness, peer } = await startMarketing();
  peer.respond(() => ({ status: 201, body: JSON.stringify({ id: "prov-7" }) }));
  const consent = { ...GRANTED, consentAt: "2026-05-01T10:00:00+02:00" };
  const id = await harness.publish("marketing.lead.upsert", {
    ...upsertOf({ name: "Ann", attributes: { plan: "pro", seats: 3 } }),
    email: "Ann@Example.test",
    ...consent,
  });
  await harness.untilReceipt(id, MARKETING);
  const contact = await contactOf(harness);
  expect(contact).toMatchObject({
    email: "Ann@example.test",
    name: "Ann",
    consent: "granted",
    owedBy: null,
    told: true,
    providerId: "prov-7",
  });
  expect(peer.requests).toHaveLength(1);
  const [request] = peer.requests;
  expect(request).toMatchObject({ method: "PUT", path: `/v1/contacts/${contact.id}` });
  expect(request?.headers).toMatchObject({
    authorization: "Bearer provider-token",
    "content-type": "application/json",
    "idempotency-key": id,
  });
  expect(JSON.parse(request?.text ?? "")).toEqual({
    tenant: TENANT,
    email: "Ann@example.test",
    status: "subscribed",
    revision: 1,
    name: "Ann",
    attributes: { plan: "pro", seats: 3 },
    consent: { at: "2026-05-01T08:00:00.000Z", source: "signup form" },
  });
});

test("of a person who never said anything the provider hears nothing; a no is told, with nothing else about the person, also of one it has never heard of", async () => {
  const { harness, peer } = await startMarketing();
  const silent = await harness.publish("marketing.lead.upsert", upsertOf({ email: "silent@example.test", name: "Sil" }));
  const no = await harness.publish(
    "marketing.lead.upsert",
    upsertOf({ email: "no@example.test", name: "No", consent: "denied", consentSource: "phone" }),
  );
  const gone = await harness.publish("marketing.lead.unsubscribe", upsertOf({ email: "gone@example.test", reason: "too many mails" }));
  for (const id of [silent, no, gone]) await harness.untilReceipt(id, MARKETING);
  expect(await contactOf(harness, "silent@example.test")).toMatchObject({
    name: "Sil",
    consent: "unknown",
    toldStatus: null,
    owedBy: null,
  });
  expect(await contactOf(harness, "no@example.test")).toMatchObject({
    consent: "denied",
    consentSource: "phone",
    toldStatus: "unsubscribed",
  });
  expect(await contactOf(harness, "gone@example.test")).toMatchObject({ consent: "denied", consentSource: "too many mails" });
  const bodies = peer.requests.map(({ text }) => text).toSorted();
  expect(bodies).toEqual(
    ["gone@example.test", "no@example.test"].map((email) => JSON.stringify({ tenant: TENANT, email, status: "unsubscribed", revision: 1 })),
  );
});

test("without a provider contacts are kept and nobody is called; the receipt says so", async () => {
  const { harness, peer } = await startMarketing({ provider: null });
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await harness.untilReceipt(id, MARKETING);
  const { rows } = await harness.database.pool.query(`SELECT "result" FROM "OutboxReceipt" WHERE "eventId" = $1`, [id]);
  expect(rows).toEqual([{ result: { provider: "none" } }]);
  expect(await contactOf(harness)).toMatchObject({ consent: "granted", toldStatus: null });
  expect([await harness.intents(id), peer.requests.length]).toEqual([[], 0]);
});

test("an event of a type nobody knows is dead at once", async () => {
  const { harness, peer } = await startMarketing();
  const id = await harness.publish("marketing.lead.adored", upsertOf());
  expect((await harness.untilReceipt(id, MARKETING, "dead")).detail).toContain("RECEIVER.PAYLOAD");
  expect(peer.requests).toHaveLength(0);
});

test("what the provider's answers mean: 4xx is permanent and leaves the contact owed, 410 is an erased person, the rest is tried again under the same key", async () => {
  const { harness, peer } = await startMarketing();
  const seen = new Set<string>();
  // The status stands in the address; what is tried again is taken at the second try.
  peer.respond(({ text }) => {
    const again = seen.has(text);
    seen.add(text);
    return { status: again ? 204 : Number(/to-(\d+)@/.exec(text)?.[1]), headers: { location: `${peer.url}/elsewhere` } };
  });
  const publish = (status: number): Promise<string> =>
    harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, email: `to-${status}@example.test` }));
  const outcomes = async (statuses: readonly number[], outcome: "done" | "dead") => {
    const ids = new Map<number, string>();
    for (const status of statuses) ids.set(status, await publish(status));
    const lines = [];
    for (const [status, id] of ids) {
      await harness.untilReceipt(id, MARKETING, outcome);
      const [intent] = await harness.intents(id);
      const { owedBy } = await contactOf(harness, `to-${status}@example.test`);
      const calls = peer.requests.filter(({ text }) => text.includes(`to-${status}@`)).map((request) => toldOf(request).key);
      expect(new Set(calls), `${status}`).toEqual(new Set([id]));
      lines.push(`${status} ${intent?.state} ${calls.length} ${owedBy === id ? "owed" : "settled"}`);
    }
    return lines;
  };
  const permanent = [302, 400, 401, 404, 422];
  expect(await outcomes(permanent, "dead")).toEqual(permanent.map((status) => `${status} failed 1 owed`));
  expect(await outcomes([410], "done")).toEqual(["410 failed 1 settled"]);
  const passing = [408, 409, 425, 429, 500, 503];
  expect(await outcomes(passing, "done")).toEqual(passing.map((status) => `${status} sent 2 settled`));
});

test("the next try waits as long as Retry-After asks", async () => {
  const { harness, peer } = await startMarketing();
  peer.respond((_request, index) => (index === 0 ? { status: 429, headers: { "retry-after": "120" } } : { status: 200 }));
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  const [intent] = await waitFor(async () => {
    const intents = await harness.intents(id);
    return intents[0]?.state === "pending" && intents[0].attempts === 1 ? intents : null;
  });
  expect(intent?.waitMs).toBeGreaterThanOrEqual(119_999);
  expect(intent?.waitMs).toBeLessThan(121_000);
  await waitFor(async () => (await harness.backend.counts("outbox.marketing")).delayed === 1);
  await makeDue(harness.database, id);
  await harness.redeliver("outbox.marketing", jobIdFor(id));
  await harness.untilReceipt(id, MARKETING);
  expect(peer.requests).toHaveLength(2);
});

test("an answer that is lost, or never comes, is recorded as unknown; the call is repeated byte for byte", async () => {
  const { harness, peer } = await startMarketing({ deadlineMs: 1500 });
  const seen = new Set<string>();
  peer.respond(({ text }) => {
    if (seen.has(text)) return { status: 200 };
    seen.add(text);
    return text.includes("drop@") ? "drop" : "hang";
  });
  for (const email of ["drop@example.test", "hang@example.test"]) {
    const id = await harness.publish("marketing.lead.upsert", upsertOf({ ...GRANTED, email, attributes: { b: 1, a: "x" } }));
    await harness.untilReceipt(id, MARKETING);
    expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 1 }]);
    const calls = peer.requests
      .filter(({ text }) => text.includes(email))
      .map(({ headers, text }) => `${String(headers["idempotency-key"])} ${text}`);
    expect([calls.length, new Set(calls).size]).toEqual([2, 1]);
  }
});

test("a dead event's job is kept as failed, and a requeue really runs it again: one more call, under the same key, and no second contact", async () => {
  const { harness, peer } = await startMarketing({ maxAttempts: 2 });
  peer.respond(() => ({ status: 500 }));
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await harness.untilReceipt(id, MARKETING, "dead");
  await waitFor(async () => (await harness.backend.find("outbox.marketing", jobIdFor(id)))?.state === "failed");
  peer.respond(() => ({ status: 200 }));
  await harness.requeue(id);
  await harness.untilReceipt(id, MARKETING);
  await harness.untilIdle("outbox.marketing");
  expect(peer.requests.map((request) => toldOf(request))).toEqual(
    [1, 1, 1].map((revision) => ({ key: id, status: "subscribed", revision, name: null })),
  );
  expect(await contactOf(harness)).toMatchObject({ owedBy: null, told: true });
});

test("a job that comes again after the provider refused for good, before its death is written, tells nobody: neither at first nor once requeued", async () => {
  const harness = await createHarness();
  const peer = await startHttpPeer();
  harness.start(losingItsDeaths(harness.marketingSync(peer.port)));
  peer.respond(() => ({ status: 422 }));
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await harness.untilReceipt(id, MARKETING, "dead");
  expect(peer.requests).toHaveLength(1);
  await harness.requeue(id);
  await waitFor(() => peer.requests.length > 1);
  await harness.untilReceipt(id, MARKETING, "dead");
  await harness.untilIdle("outbox.marketing");
  expect(peer.requests).toHaveLength(2);
});

test("twice in sequence, once more after the completed job is gone, and after a requeue: one call; a replay is a second one, under a key of its own", async () => {
  const { harness, peer } = await startMarketing();
  const id = await harness.publish("marketing.lead.upsert", upsertOf(GRANTED));
  await harness.untilReceipt(id, MARKETING);
  await harness.copyJob("outbox.marketing", jobIdFor(id), jobIdFor(id, 1));
  await harness.untilIdle("outbox.marketing");
  await harness.redeliver("outbox.marketing", jobIdFor(id));
  await harness.untilIdle("outbox.marketing");
  await harness.requeue(id);
  await harness.untilIdle("outbox.marketing");
  expect(peer.requests).toHaveLength(1);
  await harness.requeue(id, MARKETING);
  await harness.untilReceipt(id, MARKETING, "done", 1);
  expect(peer.requests.map((request) => toldOf(request).key)).toEqual([id, `${id}-1`]);
  expect(new Set(peer.requests.map(({ text }) => text)).size).toBe(1);
});
