import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { createClosedGate, createConditionCheck, createStartConditions, type RolloutGate } from "../../src/switch.ts";
import { openDatabase, silentLog } from "../support.ts";

const openGate: RolloutGate = { check: async () => ({ green: true, reasons: [] }) };
const harmless: Pick<QueueBackend, "evictionPolicy"> = { evictionPolicy: async () => ({ kind: "known", policy: null }) };

async function startedRedis(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  onTestFinished(() => server.close());
  return server;
}

async function backendOn(redisUrl: string): Promise<QueueBackend> {
  const backend = await createQueueBackend({ kind: "redis", redisUrl, prefix: "{p14}", attempts: 1, backoffMs: 1, log: silentLog });
  onTestFinished(() => backend.close(1000));
  return backend;
}

describe("record keys", () => {
  const NOT_VALID = `DROP CONSTRAINT "OutboxEvent_recordKey_check", ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`;
  test.each([
    [`ALTER TABLE "OutboxEvent" ${NOT_VALID}`, [expect.stringContaining("backfill-record-key")]],
    [`DROP INDEX "OutboxEvent_in_flight_key"`, [expect.stringContaining("index of record lines")]],
    [
      `UPDATE pg_index SET indisvalid = false WHERE indexrelid = '"OutboxEvent_line_idx"'::regclass`,
      [expect.stringContaining("index of record lines")],
    ],
    [
      `DROP TRIGGER "OutboxEvent_recordKey" ON "OutboxEvent"; ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey"`,
      [expect.stringContaining(`no "recordKey"`)],
    ],
  ])("that are not all there keep pull workers off, as after %s", async (damage, blockers) => {
    const { pool } = await openDatabase();
    const check = createConditionCheck(createStartConditions({ db: pool, gate: openGate, backend: harmless }));
    expect(await check()).toEqual({ blockers: [], notes: [] });
    await pool.query(damage);
    expect(await check()).toEqual({ blockers, notes: [] });
  });
});

test("a closed gate keeps pull workers off and says why; so does a red one, with each of its reasons", async () => {
  const { pool } = await openDatabase();
  const blockersWith = async (gate: RolloutGate): Promise<readonly string[]> =>
    (await createConditionCheck(createStartConditions({ db: pool, gate, backend: harmless }))()).blockers;
  expect(await blockersWith(createClosedGate())).toEqual(["no rollout gate yet"]);
  expect(await blockersWith({ check: async () => ({ green: false, reasons: ["a", "b"] }) })).toEqual(["a", "b"]);
  expect(await blockersWith({ check: async () => ({ green: false, reasons: [] }) })).toEqual([expect.stringContaining("gave no reason")]);
  expect(await blockersWith({ check: () => Promise.reject(new Error("no map")) })).toEqual(["rollout gate could not be checked: no map"]);
});

describe("the eviction policy of Redis", () => {
  const checkOn = async (redisUrl: string) => {
    const { pool } = await openDatabase();
    return createConditionCheck(createStartConditions({ db: pool, gate: openGate, backend: await backendOn(redisUrl) }));
  };

  test("is a named reason against pull workers when it can drop jobs, and none when it cannot", async () => {
    const evicting = await startedRedis("--maxmemory-policy", "allkeys-lru");
    expect(await (await checkOn(evicting.url))()).toEqual({ blockers: [expect.stringMatching(/noeviction.+allkeys-lru/)], notes: [] });
    const keeping = await startedRedis("--maxmemory-policy", "noeviction");
    expect(await (await checkOn(keeping.url))()).toEqual({ blockers: [], notes: [] });
  });

  test("holds nothing back where nobody may ask for it, and that is said", async () => {
    const silent = await startedRedis("--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config", "-info");
    expect(await (await checkOn(silent.url))()).toEqual({
      blockers: [],
      notes: [expect.stringContaining("eviction policy of Redis is unknown")],
    });
  });

  test("stays what it was while Redis is away", async () => {
    const server = await startedRedis("--maxmemory-policy", "allkeys-lru");
    const check = await checkOn(server.url);
    const before = await check();
    expect(before.blockers).toHaveLength(1);
    await server.stop();
    expect(await check()).toEqual(before);
  });
});
