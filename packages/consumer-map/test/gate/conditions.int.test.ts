import type { Database } from "@toolctrl/db/client";
import { askConditions, createConditionCheck, type CheckedCondition } from "@toolctrl/outbox-drainer/switch";
import { describe, expect, test } from "vitest";
import { createRolloutGate, type GateDeps } from "../../src/gate.ts";
import type { MapProof } from "../../src/proof.ts";
import { backendOn, harmless, HORIZON, openDatabase, startedRedis } from "./support.ts";

const PROVEN: MapProof = { proven: true, reasons: [], proofs: [] };

function conditionsOf({ pool }: Database, overrides: Partial<GateDeps> & { proof?: MapProof } = {}) {
  const { proof = PROVEN, ...deps } = overrides;
  const gate = createRolloutGate({ proveMap: () => Promise.resolve(proof) });
  return gate({ db: pool, backend: harmless, horizon: HORIZON, votes: true, ...deps });
}

/** What is not green, `name state`, with its reasons. */
async function complaintsOf(
  conditions: ReturnType<typeof conditionsOf>,
): Promise<Record<string, readonly CheckedCondition["reasons"][number][]>> {
  const checked = await askConditions(conditions);
  return Object.fromEntries(
    checked.filter(({ state }) => state !== "green").map(({ name, state, reasons }) => [`${name} ${state}`, reasons]),
  );
}

const naming = (why: RegExp, fix: RegExp) => [{ why: expect.stringMatching(why), fix: expect.stringMatching(fix) }];

test("a migrated installation with a proven map is green, in a fixed order of conditions", async () => {
  const checked = await askConditions(conditionsOf(await openDatabase()));
  expect(checked.map(({ name, state }) => `${name} ${state}`)).toEqual([
    "consumer map green",
    "record keys green",
    "schema green",
    "result TTL green",
    "eviction policy green",
    "persistence green",
  ]);
});

const NOT_VALID = `DROP CONSTRAINT "OutboxEvent_recordKey_check", ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`;
const UNKEYED = `DROP TRIGGER "OutboxEvent_recordKey" ON "OutboxEvent"; ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey"`;

test.each<[string, string, Record<string, unknown>]>([
  [
    "record keys not backfilled",
    `ALTER TABLE "OutboxEvent" ${NOT_VALID}`,
    { "record keys red": naming(/not validated/, /backfill-record-key/) },
  ],
  [
    "an index of lines gone",
    `DROP INDEX "OutboxEvent_in_flight_key"`,
    { "record keys red": naming(/indexes of record lines/, /db migrate.+: CREATE UNIQUE INDEX CONCURRENTLY "OutboxEvent_in_flight_key"/) },
  ],
  [
    "an index of lines invalid",
    `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"OutboxEvent_line_idx"'::regclass`,
    { "record keys red": naming(/indexes of record lines/, /db migrate.+: REINDEX INDEX CONCURRENTLY "OutboxEvent_line_idx";$/) },
  ],
  [
    "the constraint of record keys gone",
    `ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check"`,
    {
      "record keys red": naming(
        /got no constraint/,
        /ADD CONSTRAINT "OutboxEvent_recordKey_check".+ NOT VALID; Then run .+backfill-record-key/,
      ),
    },
  ],
  [
    "an index gone",
    `DROP INDEX "OutboxEvent_due_idx"`,
    { "schema red": naming(/due_idx is missing/, /db migrate.+: CREATE INDEX CONCURRENTLY "OutboxEvent_due_idx"/) },
  ],
  [
    "a column of another type",
    `ALTER TABLE "OutboxReceipt" ALTER COLUMN "detail" TYPE varchar(10)`,
    { "schema red": naming(/column OutboxReceipt\.detail to be "text", got "character varying\(10\)"/, /db status/) },
  ],
  [
    "a trigger gone",
    `DROP TRIGGER "AuditEntry_append_only" ON "AuditEntry"`,
    { "schema red": naming(/AuditEntry_append_only is missing/, /db migrate/) },
  ],
  [
    "no record keys at all",
    UNKEYED,
    {
      "record keys red": naming(/no "recordKey"/, /db migrate/),
      "schema red": [
        naming(/^index OutboxEvent\.OutboxEvent_parked_idx is missing$/, /db migrate/)[0],
        naming(/^trigger OutboxEvent\.OutboxEvent_recordKey is missing$/, /db migrate/)[0],
      ],
    },
  ],
])("%s is red with that reason and no other, and what to do", async (_what, damage, complaints) => {
  const database = await openDatabase();
  await database.pool.query(damage);
  expect(await complaintsOf(conditionsOf(database))).toEqual(complaints);
});

test("an unproven map is red with every reason; a process that votes against pull workers is not asked about it", async () => {
  const database = await openDatabase();
  const proof: MapProof = { proven: false, reasons: ["a: nothing shows that it is safe", "b: its evidence failed"], proofs: [] };
  expect(await complaintsOf(conditionsOf(database, { proof }))).toEqual({
    "consumer map red": [naming(/^a: nothing/, /evidence/)[0], naming(/^b: its evidence failed/, /evidence/)[0]],
  });
  expect(await complaintsOf(conditionsOf(database, { proof, votes: false }))).toEqual({});
});

test("a result that is forgotten before its last retry is red, with both numbers", async () => {
  const horizon = { ...HORIZON, resultTtlSeconds: 3600 };
  expect(await complaintsOf(conditionsOf(await openDatabase(), { horizon }))).toEqual({
    "result TTL red": naming(/got 3600 s against 7115 s$/, /OUTBOX_RESULT_TTL_SECONDS/),
  });
});

describe("the queue's Redis", () => {
  test("is green when it evicts nothing and appends to a file, and red with each reason when not", async () => {
    const database = await openDatabase();
    const asked = async (...args: string[]) =>
      complaintsOf(conditionsOf(database, { backend: await backendOn((await startedRedis(...args)).url) }));
    expect(await asked("--appendonly", "yes")).toEqual({});
    expect(await asked("--appendonly", "no", "--maxmemory-policy", "allkeys-lru")).toEqual({
      "eviction policy red": naming(/noeviction.+allkeys-lru/, /noeviction/),
      "persistence red": naming(/appendonly yes.+got no/, /appendonly/),
    });
  });

  test("is unknown where nobody may ask it: that is said, and holds nothing back", async () => {
    const silent = await startedRedis("--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config", "-info");
    const conditions = conditionsOf(await openDatabase(), { backend: await backendOn(silent.url) });
    expect(await complaintsOf(conditions)).toEqual({
      "eviction policy unknown": naming(/eviction policy of Redis is unknown.+NOPERM/, /noeviction/),
      "persistence unknown": naming(/persistence of Redis is unknown.+NOPERM/, /append-only/),
    });
    expect(await createConditionCheck(conditions)()).toMatchObject({ blockers: [], notes: [expect.any(String), expect.any(String)] });
  });

  test("stays what it was while it is away", async () => {
    const server = await startedRedis("--maxmemory-policy", "allkeys-lru", "--appendonly", "yes");
    const conditions = conditionsOf(await openDatabase(), { backend: await backendOn(server.url) });
    const before = await complaintsOf(conditions);
    expect(Object.keys(before)).toEqual(["eviction policy red"]);
    await server.stop();
    expect(await complaintsOf(conditions)).toEqual(before);
  });
});

test("drift of the schema is looked for now and then, and at once after a look that failed", async () => {
  const { pool } = await openDatabase();
  let looks = 0;
  let away = true;
  const query: typeof pool.query = ((text: string, values?: unknown[]) => {
    if (text.includes("'trigger '")) {
      looks += 1;
      if (away) return Promise.reject(new Error("away"));
    }
    return pool.query(text, values);
  }) as typeof pool.query;
  const schema = createRolloutGate({ proveMap: () => Promise.resolve(PROVEN) })({
    db: { query },
    backend: harmless,
    horizon: HORIZON,
    votes: true,
  }).filter(({ name }) => name === "schema");
  await expect(askConditions(schema)).rejects.toThrow("away");
  away = false;
  for (let time = 0; time < 3; time += 1) expect((await askConditions(schema))[0]?.state).toBe("green");
  expect(looks).toBe(2);
});
