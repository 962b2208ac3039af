import { startRedis } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { endInOrder, statuses } from "./observe.ts";
import { openRig } from "./rig.ts";
import { compareEffects, publishRound, untilReceipts, type Round } from "./traffic.ts";

const SEED = Number(process.env["FLUSH_SEED"] ?? Date.now() % 1_000_000);
const FLUSHES = 8;
const ROUNDS_BETWEEN = 6;

/** The place, among a wave's receipts, at which Redis is flushed: before its first job runs, after its last one, or in between. */
function placesOf(seed: number): number[] {
  let state = seed;
  return Array.from({ length: FLUSHES }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state % (ROUNDS_BETWEEN * 5 + 1);
  });
}

test(`Redis flushed ${FLUSHES} times in the middle of traffic: every effect comes, once, and no person is needed (seed ${SEED})`, async () => {
  const redis = await startRedis({ args: ["--save", "", "--appendonly", "no"] });
  onTestFinished(() => redis.close());
  const rig = await openRig({ redisUrl: redis.url, env: { OUTBOX_RECONCILE_INTERVAL_MS: "500" } });
  const client = new Redis(redis.url);
  onTestFinished(async () => void (await client.quit()));
  const workers = await Promise.all([rig.start("general"), rig.start("general"), rig.start("mail")]);
  const rounds: Round[] = [];
  for (const [wave, place] of placesOf(SEED).entries()) {
    const names = Array.from({ length: ROUNDS_BETWEEN }, (_, n) => `w${wave}-${n}`);
    rounds.push(...(await Promise.all(names.map((name) => publishRound(rig, name)))));
    const ids = rounds.slice(-ROUNDS_BETWEEN).flatMap((round) => Object.values(round) as string[]);
    await waitFor(async () => (await countReceipts(ids)) >= place, { timeoutMs: 40_000, what: `${place} receipts of wave ${wave}` });
    await client.flushall();
  }
  await untilReceipts(rig, rounds, 60_000);
  expect(await compareEffects(rig, rounds)).toMatchObject({ missing: [], doubled: [] });
  expect(await statuses(rig)).toEqual({ DONE: rounds.length * 4, retried: 0 });
  const { rows } = await rig.database.pool.query(`SELECT DISTINCT "actor", "action" FROM "OutboxAction"`);
  expect(rows).toEqual([{ actor: "worker-general", action: "requeue" }]);
  const { rows: recorded } = await rig.database.pool.query<{ n: number }>(`SELECT sum("affected")::int AS n FROM "OutboxAction"`);
  const counted = async (): Promise<number> =>
    (await Promise.all(workers.map((worker) => worker.metric("outbox_reconciled_total")))).reduce((sum, jobs) => sum + jobs, 0);
  await waitFor(async () => (await counted()) === recorded[0]?.n, { what: "every job that was added again to be counted, once" });
  await endInOrder(workers);

  async function countReceipts(ids: readonly string[]): Promise<number> {
    const { rowCount } = await rig.database.pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = ANY($1)`, [ids]);
    return rowCount ?? 0;
  }
});
