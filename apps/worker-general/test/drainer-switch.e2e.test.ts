// Mostly waits: for votes and leases.
import { createProvenPackage } from "@toolctrl/consumer-map/testing";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { waitFor } from "@toolctrl/testkit/wait";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { describe, expect, onTestFinished, test } from "vitest";
import { openInstallation, type Installation } from "./support.ts";
import { startWorkerProcess, type Readiness, type Worker } from "./worker.ts";

const MAIN = new URL("../src/main.ts", import.meta.url);
const OPEN_GATE = new URL("./open-gate.ts", import.meta.url);
/** The product's gate, over a map whose proof a test has made. */
const OWN_GATE = new URL("./own-gate.ts", import.meta.url);
const NOT_VALID = `DROP CONSTRAINT "OutboxEvent_recordKey_check", ADD CONSTRAINT "OutboxEvent_recordKey_check" CHECK ("recordKey" IS NOT NULL) NOT VALID`;

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
    // The run's Redis keeps no file, and this process has the product's own gate.
    expect(told.whyNotPull).toContainEqual(expect.stringContaining("OUTBOX_PULL_WORKER=false"));
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

describe("worker-general with the product's own gate", () => {
  async function startProven(installation: Installation, options: Parameters<typeof createProvenPackage>[0] = {}): Promise<Worker> {
    const { folder, remove } = await createProvenPackage(options);
    onTestFinished(remove);
    const redis = await startRedis({ args: ["--appendonly", "yes"] });
    onTestFinished(() => redis.close());
    const env = { OUTBOX_PULL_WORKER: "true", REDIS_URL: redis.url, MAP_FOLDER: folder };
    return startWorkerProcess(OWN_GATE, installation.env, { env });
  }

  test("drains through pull workers while it is green, through the dispatcher as soon as it is red", async () => {
    const installation = await openInstallation();
    const { database } = installation;
    const worker = await startProven(installation);
    expect(await untilRunning(worker, "pull")).toMatchObject({ whyNotPull: [], blockers: [] });
    await publishAndWait(installation);
    await database.pool.query(`ALTER TABLE "OutboxEvent" ${NOT_VALID}`);
    const told = await untilRunning(worker, "batch");
    expect(told.blockers).toEqual([expect.stringMatching(/not validated.+backfill-record-key/)]);
    await publishAndWait(installation);
    await database.pool.query(`ALTER TABLE "OutboxEvent" VALIDATE CONSTRAINT "OutboxEvent_recordKey_check"`);
    await untilRunning(worker, "pull");
    worker.kill("SIGTERM");
    expect(await worker.waitForExit()).toMatchObject({ code: 0 });
  });

  test("keeps the dispatcher while a consumer is unproven, however the process votes, and the log names it once", async () => {
    const installation = await openInstallation();
    const worker = await startProven(installation, { except: ["audit-append"] });
    await publishAndWait(installation);
    expect(await untilRunning(worker, "batch")).toMatchObject({ blockers: [expect.stringMatching(/^audit-append: nothing shows/)] });
    await worker.waitForLine(/pull workers are off: audit-append: nothing shows/);
    expect(worker.lines().filter((line) => line.includes("audit-append: nothing shows"))).toHaveLength(1);
  });
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
