import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { openInstallation, type Installation } from "./support.ts";
import { startWorkerProcess, type Readiness, type Worker } from "./worker.ts";

const MAIN = new URL("../src/main.ts", import.meta.url);
const OPEN_GATE = new URL("./open-gate.ts", import.meta.url);

/** What /readyz tells of the drainer. */
async function drainerOf(worker: Worker): Promise<NonNullable<Readiness["drainer"]>> {
  const { drainer } = await worker.ready();
  if (drainer === undefined) throw new Error("expected readiness to tell of the drainer, it does not");
  return drainer;
}

async function untilRunning(worker: Worker, drainer: "batch" | "pull"): Promise<NonNullable<Readiness["drainer"]>> {
  await waitFor(async () => (await drainerOf(worker)).running === drainer, { timeoutMs: 30_000, what: `the drainer ${drainer} to run` });
  return drainerOf(worker);
}

async function publishAndWait({ database }: Installation): Promise<void> {
  const event = {
    tenantId: "acme",
    type: "audit.entry.record",
    payload: { actor: "ann", action: "lead.update", object: "Lead", recordId: "1" },
  };
  const { id } = await database.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
  const receipt = async (): Promise<boolean> =>
    (await database.pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = $1`, [id])).rowCount === 1;
  await waitFor(receipt, { timeoutMs: 30_000, what: "its receipt" });
}

describe.each(["redis", "postgres"] as const)("worker-general on %s", (kind) => {
  test("drains through pull workers when it votes so and its gate is open, and through the dispatcher as soon as another process objects", async () => {
    const installation = await openInstallation(kind);
    const pull = await startWorkerProcess(OPEN_GATE, installation.env, { env: { OUTBOX_PULL_WORKER: "true" } });
    expect(await untilRunning(pull, "pull")).toMatchObject({ mode: "pull", whyNotPull: [] });
    expect([await pull.metric(`drainer_mode{mode="pull"}`), await pull.metric(`drainer_mode{mode="batch"}`)]).toEqual([1, 0]);
    await publishAndWait(installation);
    const other = await startWorkerProcess(MAIN, installation.env, {});
    const told = await untilRunning(pull, "batch");
    await untilRunning(other, "batch");
    expect(told.whyNotPull).toEqual([expect.stringContaining("OUTBOX_PULL_WORKER=false"), expect.stringContaining("no rollout gate yet")]);
    expect(told.blockers).toEqual([]);
    await publishAndWait(installation);
    other.kill("SIGTERM");
    expect(await other.waitForExit()).toMatchObject({ code: 0 });
    await untilRunning(pull, "pull");
    await publishAndWait(installation);
    pull.kill("SIGTERM");
    expect(await pull.waitForExit()).toMatchObject({ code: 0 });
  });
});

test("a closed gate keeps the dispatcher, however the process votes, and the log names it once", async () => {
  const installation = await openInstallation();
  const worker = await startWorkerProcess(MAIN, installation.env, { env: { OUTBOX_PULL_WORKER: "true" } });
  await publishAndWait(installation);
  expect(await untilRunning(worker, "batch")).toMatchObject({ blockers: ["no rollout gate yet"] });
  await worker.waitForLine(/pull workers are off: no rollout gate yet/);
  expect(worker.lines().filter((line) => line.includes("no rollout gate yet"))).toHaveLength(1);
});

test("a Redis that may drop keys keeps the dispatcher and is named in readiness", async () => {
  const redis = await startRedis({ args: ["--maxmemory-policy", "allkeys-lru"] });
  onTestFinished(() => redis.close());
  const installation = await openInstallation();
  const worker = await startWorkerProcess(OPEN_GATE, installation.env, { env: { OUTBOX_PULL_WORKER: "true", REDIS_URL: redis.url } });
  expect(await untilRunning(worker, "batch")).toMatchObject({ blockers: [expect.stringMatching(/noeviction.+allkeys-lru/)] });
});

test("a process whose switch is off drains nothing and has no voice", async () => {
  const installation = await openInstallation();
  const silent = await startWorkerProcess(MAIN, installation.env, { env: { OUTBOX_DISPATCHER_ENABLED: "false" } });
  const pull = await startWorkerProcess(OPEN_GATE, installation.env, { env: { OUTBOX_PULL_WORKER: "true" } });
  await untilRunning(pull, "pull");
  expect(await drainerOf(silent)).toEqual({ running: null, why: "OUTBOX_DISPATCHER_ENABLED is off" });
});
