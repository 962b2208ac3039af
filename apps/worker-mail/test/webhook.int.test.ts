// Mostly waits: for deadlines and backoffs.
import { listWebhookEndpoints, createWebhookEndpoint, rotateWebhookSecret } from "@toolctrl/domain/webhook-endpoints";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createHarness, losingItsDeaths, makeDue, SECRETS_KEY, TENANT } from "./harness.ts";
import { addEndpoint, PAYLOAD, startWebhooks, TYPE, verifies } from "./webhook-support.ts";

test("an event reaches every enabled endpoint of its tenant that asked for its type, signed over the bytes received", async () => {
  const { harness, peer } = await startWebhooks();
  const all = await addEndpoint(harness, `${peer.url}/all`);
  const invoices = await addEndpoint(harness, `${peer.url}/invoices`, ["webhook.invoice"]);
  await addEndpoint(harness, `${peer.url}/leads`, ["webhook.lead."]);
  await addEndpoint(harness, `${peer.url}/half-a-segment`, ["webhook.inv"]);
  await addEndpoint(harness, `${peer.url}/rival`, [], "rival");
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  const requests = Object.fromEntries(peer.requests.map((request) => [request.path, request]));
  expect(Object.keys(requests).sort()).toEqual(["/all", "/invoices"]);
  for (const [path, secret] of [
    ["/all", all.secret],
    ["/invoices", invoices.secret],
  ] as const) {
    const request = requests[path];
    if (request === undefined) throw new Error(`expected a request to ${path}`);
    expect(request.headers["webhook-id"]).toBe(id);
    // What the endpoint does because of it is one deeper than the event.
    expect(request.headers["toolctrl-depth"]).toBe("1");
    expect(verifies(request, secret)).toBe(true);
    expect(JSON.parse(request.text)).toEqual({ type: TYPE, timestamp: expect.any(String), data: PAYLOAD });
  }
  expect(await harness.intents(id)).toMatchObject([
    { state: "sent", attempts: 1 },
    { state: "sent", attempts: 1 },
  ]);
});

test("an event of a tenant without endpoints is done", async () => {
  const { harness } = await startWebhooks();
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  expect(await harness.intents(id)).toEqual([]);
});

test("an endpoint that fails neither repeats nor holds up the others; each try has a fresh timestamp and the same id", async () => {
  const { harness, peer } = await startWebhooks({ maxAttempts: 8, backoffMs: 600 });
  const steady = await addEndpoint(harness, `${peer.url}/steady`);
  const shaky = await addEndpoint(harness, `${peer.url}/shaky`);
  let failures = 0;
  peer.respond((request) => (request.path === "/shaky" && (failures += 1) <= 2 ? { status: 500 } : { status: 204 }));
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  const tries = peer.requests.filter(({ path }) => path === "/shaky");
  expect(peer.requests.filter(({ path }) => path === "/steady")).toHaveLength(1);
  expect(tries).toHaveLength(3);
  expect(new Set(tries.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([id]));
  expect(new Set(tries.map(({ headers }) => headers["webhook-timestamp"])).size).toBeGreaterThan(1);
  expect(tries.every((request) => verifies(request, shaky.secret) && !verifies(request, steady.secret))).toBe(true);
});

test.each([400, 401, 404, 409, 422, 301, 302, 307])(
  "%i is permanent: one try, and the job ends dead naming the endpoint",
  async (status) => {
    const { harness, peer } = await startWebhooks();
    const other = await startHttpPeer();
    const { id: endpointId } = await addEndpoint(harness, `${peer.url}/hook`);
    peer.respond(() => ({ status, headers: { location: `${other.url}/inner` } }));
    const id = await harness.publish(TYPE, PAYLOAD);
    const receipt = await harness.untilReceipt(id, "webhook-deliver", "dead");
    expect(receipt.detail).toContain(endpointId);
    expect(receipt.detail).toContain(`got ${status}`);
    expect(peer.requests).toHaveLength(1);
    expect(other.requests).toHaveLength(0);
  },
);

test("410 disables the endpoint with its reason; the event is done, and later ones do not reach it", async () => {
  const { harness, peer } = await startWebhooks();
  await addEndpoint(harness, `${peer.url}/gone`);
  peer.respond(() => ({ status: 410 }));
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  expect(await harness.intents(id)).toMatchObject([{ state: "failed", lastErrorCode: "WEBHOOK.GONE", attempts: 1 }]);
  const [endpoint] = await listWebhookEndpoints(harness.database.prisma, TENANT);
  expect(endpoint).toMatchObject({ enabled: false, disabledReason: `answered 410 to ${id}` });
  const later = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(later, "webhook-deliver");
  expect(peer.requests).toHaveLength(1);
});

test.each([
  ["429 with seconds", 429, { "retry-after": "120" }, 120_000],
  [
    "503 with a date by the peer's own clock",
    503,
    { date: "Thu, 01 Jan 2026 00:00:00 GMT", "retry-after": "Thu, 01 Jan 2026 00:02:00 GMT" },
    120_000,
  ],
  ["429 above the cap", 429, { "retry-after": "9999999" }, 3_600_000],
  ["429 whose body does not come whole", 429, { "retry-after": "120", "content-length": "100" }, 120_000],
])("%s: the next try waits as long as was asked, and no longer than the cap", async (_what, status, headers, waitMs) => {
  const { harness, peer } = await startWebhooks();
  await addEndpoint(harness, `${peer.url}/busy`);
  peer.respond((_request, index, response) => {
    if (index > 0) return { status: 200 };
    if (!("content-length" in headers)) return { status, headers };
    response.writeHead(status, headers).write("busy", () => response.destroy());
    return "handled";
  });
  const id = await harness.publish(TYPE, PAYLOAD);
  const [intent] = await waitFor(async () => {
    const intents = await harness.intents(id);
    return intents[0]?.state === "pending" && intents[0].attempts === 1 ? intents : null;
  });
  expect(intent?.waitMs).toBeGreaterThanOrEqual(waitMs - 1);
  expect(intent?.waitMs).toBeLessThan(waitMs + 1000);
  await waitFor(async () => (await harness.backend.counts("outbox.webhook")).delayed === 1);
  await makeDue(harness.database, id);
  await harness.redeliver("outbox.webhook", jobIdFor(id));
  await harness.untilReceipt(id, "webhook-deliver");
  expect(peer.requests).toHaveLength(2);
});

test("500 and time-outs are tried again with growing waits, up to the attempts per endpoint; then the job is dead", async () => {
  const { harness, peer } = await startWebhooks({ maxAttempts: 3, backoffMs: 30, deadlineMs: 300 });
  await addEndpoint(harness, `${peer.url}/down`);
  await addEndpoint(harness, `${peer.url}/silent`);
  peer.respond((request) => (request.path === "/down" ? { status: 500 } : "hang"));
  const id = await harness.publish(TYPE, PAYLOAD);
  const receipt = await harness.untilReceipt(id, "webhook-deliver", "dead");
  expect(receipt.detail).toContain("2 of 2 failed for good");
  expect(peer.requests.filter(({ path }) => path === "/down")).toHaveLength(3);
  expect(peer.requests.filter(({ path }) => path === "/silent")).toHaveLength(3);
  expect((await harness.intents(id)).map(({ state, attempts, unknowns }) => `${state} ${attempts} ${unknowns}`).sort()).toEqual([
    "failed 3 0",
    "failed 3 3",
  ]);
});

test("a dead event that is requeued goes again to the endpoints that failed, and to no other", async () => {
  const { harness, peer } = await startWebhooks({ maxAttempts: 1 });
  await addEndpoint(harness, `${peer.url}/fine`);
  await addEndpoint(harness, `${peer.url}/broken`);
  peer.respond((request) => ({ status: request.path === "/broken" ? 500 : 200 }));
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver", "dead");
  peer.respond(() => ({ status: 200 }));
  await harness.requeue(id);
  await harness.untilReceipt(id, "webhook-deliver");
  expect(peer.requests.map(({ path }) => path).sort()).toEqual(["/broken", "/broken", "/fine"]);
});

test.each([
  [404, 1],
  [500, 3],
])(
  "a job that comes again after its endpoint failed for good (%i), before its death is written, calls nobody: neither at first nor once requeued",
  async (status, tries) => {
    const harness = await createHarness();
    const peer = await startHttpPeer();
    harness.start(losingItsDeaths(harness.webhookDeliver([peer.port], { maxAttempts: 3 })));
    await addEndpoint(harness, `${peer.url}/hook`);
    peer.respond(() => ({ status }));
    const id = await harness.publish(TYPE, PAYLOAD);
    await harness.untilReceipt(id, "webhook-deliver", "dead");
    expect(peer.requests).toHaveLength(tries);
    await harness.requeue(id);
    await waitFor(() => peer.requests.length > tries);
    await harness.untilReceipt(id, "webhook-deliver", "dead");
    await harness.untilIdle("outbox.webhook");
    expect(peer.requests).toHaveLength(2 * tries);
  },
);

test.each(["drop", "hang"] as const)(
  "the reply is lost after the request was written (%s): recorded as unknown, repeated with the same webhook-id",
  async (reply) => {
    const { harness, peer } = await startWebhooks({ deadlineMs: 300 });
    await addEndpoint(harness, `${peer.url}/hook`);
    peer.respond((_request, index) => (index === 0 ? reply : { status: 200 }));
    const id = await harness.publish(TYPE, PAYLOAD);
    await harness.untilReceipt(id, "webhook-deliver");
    expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 1 }]);
    expect(await harness.metrics.text()).toContain('outbox_outcome_unknown_total{consumer="webhook-deliver"} 1');
    expect(peer.requests.map(({ headers }) => headers["webhook-id"])).toEqual([id, id]);
  },
);

test("an endpoint nobody listens on is known not to have been reached", async () => {
  const { harness, peer } = await startWebhooks({ maxAttempts: 2 });
  await addEndpoint(harness, `${peer.url}/hook`);
  await peer.close();
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver", "dead");
  expect(await harness.intents(id)).toMatchObject([{ state: "failed", attempts: 2, unknowns: 0 }]);
});

test("twice in sequence, twice at once, once more after the completed job is gone, and after a requeue: one request", async () => {
  const harness = await createHarness();
  const peer = await startHttpPeer();
  await addEndpoint(harness, `${peer.url}/hook`);
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.copyJob("outbox.webhook", jobIdFor(id), jobIdFor(id, 1));
  harness.start(harness.webhookDeliver([peer.port]));
  await harness.untilReceipt(id, "webhook-deliver");
  await harness.untilIdle("outbox.webhook");
  await harness.redeliver("outbox.webhook", jobIdFor(id));
  await harness.untilIdle("outbox.webhook");
  await harness.requeue(id);
  await harness.untilIdle("outbox.webhook");
  expect(peer.requests).toHaveLength(1);
});

test("a replay repeats the delivery on purpose, under a webhook-id of its own", async () => {
  const { harness, peer } = await startWebhooks();
  await addEndpoint(harness, `${peer.url}/hook`);
  const id = await harness.publish(TYPE, PAYLOAD);
  await harness.untilReceipt(id, "webhook-deliver");
  await harness.requeue(id, "webhook-deliver");
  await harness.untilReceipt(id, "webhook-deliver", "done", 1);
  expect(peer.requests.map(({ headers }) => headers["webhook-id"])).toEqual([id, `${id}-1`]);
});

test("a request found in flight is left alone while it may still run, then counted as unknown and repeated", async () => {
  const harness = await createHarness();
  const peer = await startHttpPeer();
  const { id: endpointId } = await addEndpoint(harness, `${peer.url}/hook`);
  const id = await harness.publish(TYPE, PAYLOAD);
  // What a killed process leaves behind.
  await harness.database.pool.query(
    `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "target", "state", "token", "sendingSince", "attempts", "externalId")
     VALUES (gen_random_uuid(), $1::uuid, $2, 'webhook-deliver', $3, 'sending', gen_random_uuid(), clock_timestamp(), 1, $1::text)`,
    [id, TENANT, endpointId],
  );
  harness.start(harness.webhookDeliver([peer.port], { deadlineMs: 1000 }));
  await waitFor(async () => (await harness.backend.counts("outbox.webhook")).delayed === 1);
  expect(peer.requests).toHaveLength(0);
  await harness.untilReceipt(id, "webhook-deliver");
  expect(await harness.intents(id)).toMatchObject([{ state: "sent", attempts: 2, unknowns: 1 }]);
});

test("while a secret rotates the old and the new one both verify; after a rotation without overlap only the newest", async () => {
  const { harness, peer } = await startWebhooks();
  const { prisma } = harness.database;
  const { id: endpointId, secret: first } = await addEndpoint(harness, `${peer.url}/hook`);
  const rotate = (overlapSeconds: number): Promise<{ secret: string }> =>
    prisma.$transaction((tx) => rotateWebhookSecret(tx, { tenantId: TENANT, endpointId, overlapSeconds, secretsKey: SECRETS_KEY }));
  const { secret: second } = await rotate(3600);
  await harness.publish(TYPE, PAYLOAD);
  const during = await peer.nextRequest();
  expect([first, second].map((secret) => verifies(during, secret))).toEqual([true, true]);
  expect(String(during.headers["webhook-signature"]).split(" ")).toHaveLength(2);
  const { secret: third } = await rotate(0);
  await harness.publish(TYPE, PAYLOAD);
  const after = await peer.nextRequest();
  expect([first, second, third].map((secret) => verifies(after, secret))).toEqual([false, false, true]);
  const { rows } = await harness.database.pool.query<{ secrets: string }>(`SELECT "secrets"::text FROM "WebhookEndpoint"`);
  for (const secret of [first, second, third]) expect(rows[0]?.secrets).not.toContain(secret.slice("whsec_".length));
});

test("a secret stored with another key stops its own endpoint alone", async () => {
  const { harness, peer } = await startWebhooks();
  await addEndpoint(harness, `${peer.url}/fine`);
  await harness.database.prisma.$transaction((tx) =>
    createWebhookEndpoint(tx, {
      tenantId: TENANT,
      url: `${peer.url}/sealed`,
      eventPrefixes: [],
      secretsKey: Buffer.alloc(32, 9).toString("base64"),
    }),
  );
  const id = await harness.publish(TYPE, PAYLOAD);
  const receipt = await harness.untilReceipt(id, "webhook-deliver", "dead");
  expect(receipt.detail).toContain("WEBHOOK.SECRET");
  expect(peer.requests.map(({ path }) => path)).toEqual(["/fine"]);
});
