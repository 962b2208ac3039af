import { randomUUID } from "node:crypto";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { openHttp } from "@toolctrl/worker/resources";
import { afterAll, beforeAll, expect, test } from "vitest";
import { expectExactlyOneEffect, printReports, type Subject } from "../src/exactly-one-effect.ts";
import { openGround, type Ground } from "../src/exactly-one-effect/ground.ts";
import { describeOutcome, problemsOf, type Outcome } from "../src/exactly-one-effect/outcome.ts";
import { SCENARIOS } from "../src/exactly-one-effect/scenarios.ts";
import { deliver, type Installation } from "../src/installation.ts";
import { createConsumers, QUEUE, readEnv } from "./fixtures/consumers.ts";

const EVENT = { queue: QUEUE, type: "workflow.customer.joined", payload: {} };

const KILLS = { timeout: 300_000 };

let ground: Ground;
let peer: HttpPeer;

beforeAll(async () => {
  [ground, peer] = await Promise.all([openGround(), startHttpPeer()]);
});

afterAll(() => ground.close());

function subjectOf(name: string): Subject {
  const env = () => ({ PEER_URL: peer.url, OUTBOUND_HTTP_ALLOW: `127.0.0.1:${peer.port}` });
  return {
    name,
    queue: QUEUE,
    app: () => ({ main: new URL("./fixtures/one-consumer.ts", import.meta.url), queues: [QUEUE], env: { ...env(), CONSUMER: name } }),
    consumers({ appEnv, database }) {
      const read = readEnv({ ...appEnv, ...env() });
      const http = openHttp(read);
      return { consumers: createConsumers({ pool: database.pool, http, peerUrl: read.PEER_URL }), close: () => http.close() };
    },
    publish: prepare,
    async add(installation, eventId, generation) {
      await deliver(installation, EVENT, { eventId, generation });
      return jobIdFor(eventId, generation);
    },
    table: "Welcome",
    async effects({ database }, eventId) {
      return (await database.pool.query(`SELECT 1 FROM "Welcome" WHERE "eventId" = $1`, [eventId])).rowCount ?? 0;
    },
  };
}

/** The subject of one that calls. */
function callerOf(name: string): Subject {
  const callsOf = (eventId: string): string[] =>
    peer.requests.map(({ headers }) => String(headers["idempotency-key"])).filter((key) => key.startsWith(eventId));
  return {
    ...subjectOf(name),
    effects: (_installation, eventId) => Promise.resolve(callsOf(eventId).length),
    calls: (_installation, eventId) => Promise.resolve(callsOf(eventId)),
    peers: () => ({ http: peer }),
  };
}

async function prepare({ database }: Installation): Promise<string> {
  // Two worlds on one database prepare at the same time.
  await database.pool.query(`SELECT pg_advisory_xact_lock(1); CREATE TABLE IF NOT EXISTS "Welcome" ("eventId" uuid NOT NULL)`);
  return randomUUID();
}

/** Plays the scenario with this in its name. */
function play(subject: Subject, name: string): Promise<string> {
  const scenario = SCENARIOS.find((each) => each.name.includes(name));
  if (scenario === undefined) throw new Error(`expected a scenario with ${name} in its name`);
  return scenario.play(ground, subject);
}

test("a consumer whose effect and receipt commit together passes, and the report says what came of each delivery", KILLS, async () => {
  const reports = await expectExactlyOneEffect({ effect: "database" }, subjectOf("welcome"));
  expect(printReports(reports).split("\n")).toEqual([
    "ok     delivered twice in sequence, and once more when the first delivery is forgotten",
    "       effects: 1; receipts: welcome done; suppressed: 2; attempts used: 0",
    "ok     delivered twice at once: only one of them has its effect, and no attempt is used",
    "       effects: 1; receipts: welcome done; suppressed: 1; attempts used: 0",
    "ok     killed after each of its outside calls, and inside its handler",
    expect.stringMatching(/^ {7}\d+ crash points$/),
    "ok     without its protection there are two effects, and they are seen",
    "       effects: 2; receipts: none; suppressed: 0; attempts used: 0",
  ]);
});

test("an effect without a receipt in its transaction is found by the kill between the two", KILLS, async () => {
  await expect(play(subjectOf("no-receipt"), "killed")).rejects.toThrow(
    /^crash after call \d+ \(sql: INSERT INTO "Welcome".*\): expected 1 effect, got 2 \(effects: 2; receipts: no-receipt done;/,
  );
});

test("an effect of each duplicate is found by two deliveries", async () => {
  await expect(play(subjectOf("passes-on"), "in sequence")).rejects.toThrow(
    "expected 1 effect, got 3 (effects: 3; receipts: passes-on done; suppressed: 2; attempts used: 0)",
  );
});

test("a key that is another one on each try, and a try that nobody wrote down, are found by a kill after the call", KILLS, async () => {
  await expect(play(callerOf("random-key"), "killed")).rejects.toThrow(
    /^crash after call \d+ \((http|sql|redis): .*\): expected calls under one id, got 2 ids: .*; expected 1 calls, as many repeats as are recorded as unknown, got 2/,
  );
});

test("a protection that is still there makes the suite itself red: it could not see that it is missing", async () => {
  await expect(play(subjectOf("welcome-keyed"), "without its protection")).rejects.toThrow(
    "the suite cannot see a missing protection: with no claim and no receipt to guard it, two deliveries should have had 2 effects, got 1",
  );
});

test("a consumer that calls somebody has to tell its calls", async () => {
  await expect(expectExactlyOneEffect({ effect: "mail" }, subjectOf("welcome"))).rejects.toThrow(
    'expected the subject of welcome, whose effect is of kind "mail", to tell the ids of its calls',
  );
});

const UNREMARKABLE: Omit<Outcome, "calls"> = { effects: 1, unknowns: 0, receipts: ["x done"], suppressed: 0, attempts: 0 };

test.for([
  { what: "no call", outcome: { calls: [] }, problem: "expected calls under one id, got 0 ids: none; expected 1 calls" },
  { what: "a repeat without a crash", outcome: { calls: ["a", "a"] }, problem: "expected 1 calls" },
  { what: "a repeat that is not recorded", outcome: { calls: ["a", "a"] }, of: 1, problem: "expected 1 calls" },
  { what: "a recorded repeat that did not come", outcome: { calls: ["a"], unknowns: 1 }, of: 1, problem: "expected 2 calls" },
  { what: "a repeat for caution alone", outcome: { calls: ["a", "a"], unknowns: 1 }, of: 0, problem: "expected 1 calls" },
  {
    what: "an unknown outcome without a crash",
    outcome: { calls: ["a"], unknowns: 1 },
    problem: "expected at most 0 calls of unknown outcome",
  },
  { what: "an attempt used", outcome: { calls: ["a"], attempts: 1 }, problem: "expected no attempt to be used, got 1" },
  { what: "a receipt that is missing", outcome: { calls: ["a"], receipts: [] }, problem: 'expected the receipt "x done", got none' },
  {
    what: "a delivery that ran",
    outcome: { calls: ["a"], suppressed: 0 },
    suppressed: 1,
    problem: "expected 1 deliveries to be suppressed",
  },
])("$what is a problem", ({ outcome, of, suppressed, problem }) => {
  const whole: Outcome = { ...UNREMARKABLE, ...outcome };
  const expected = { ...(of === undefined ? {} : { callsOfDead: of }), ...(suppressed === undefined ? {} : { suppressed }) };
  expect(problemsOf(whole, "x", expected).join("; "), describeOutcome(whole)).toContain(problem);
});

test.for([
  { what: "a call", outcome: { calls: ["a"] }, of: undefined },
  { what: "a call that the dead one had made and settled", outcome: { calls: ["a"] }, of: 1 },
  { what: "a repeat of the dead one's call, recorded", outcome: { calls: ["a", "a"], unknowns: 1 }, of: 1 },
  { what: "caution about a call that never came", outcome: { calls: ["a"], unknowns: 1 }, of: 0 },
])("$what is none", ({ outcome, of }) => {
  const whole: Outcome = { ...UNREMARKABLE, ...outcome };
  expect(problemsOf(whole, "x", of === undefined ? {} : { callsOfDead: of })).toEqual([]);
});
