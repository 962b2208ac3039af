import { startTcpProxy, type TcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, onTestFinished, test } from "vitest";
import { closeGate, type Gate } from "./gate.ts";
import { endInOrder, loseLeases, makeDue } from "./observe.ts";
import { countNotifications, publishNotifications, readEvents, untilNotified, untilStatus } from "./publish.ts";
import { openQueue } from "./queue.ts";
import { openRig, type Rig } from "./rig.ts";
import type { Worker } from "./worker.ts";

/** Stops every dispatcher between its hand-off and the settle that would record it. */
const beforeDone = (rig: Rig): Promise<Gate> => closeGate(rig, `BEFORE UPDATE ON "OutboxEvent" FOR EACH ROW WHEN (NEW."status" = 'DONE')`);

/** Waits until a worker has ticked so many times more. */
async function untilTicked(worker: Worker, times: number): Promise<void> {
  const ticks = (): Promise<number> => worker.metric("outbox_tick_seconds_count");
  const until = (await ticks()) + times;
  await waitFor(async () => (await ticks()) >= until, { timeoutMs: 20_000, what: `${times} ticks` });
}

test("a dispatcher killed between the add and DONE, the job finished and removed, added again after the lease: one effect", async () => {
  const rig = await openRig();
  const queue = await openQueue(rig);
  const gate = await beforeDone(rig);
  const killed = await rig.start("general");
  const ids = await publishNotifications(rig, 1);
  await gate.untilWaiting(1);
  await untilNotified(rig, ids);
  await waitFor(async () => (await queue.counts("outbox.notification")).completed === 1, { what: "the job to be completed" });
  killed.kill("SIGKILL");
  await killed.waitForExit();
  await gate.dropWaiting();
  await gate.open();
  expect(await readEvents(rig, ids)).toMatchObject([{ status: "PROCESSING", attempts: 1 }]);
  await queue.obliterate("outbox.notification");
  const second = await rig.start("general");
  await loseLeases(rig);
  await untilStatus(rig, ids, "DONE");
  await waitFor(async () => (await second.metric(`outbox_duplicates_suppressed_total{consumer="notification-create"}`)) === 1, {
    timeoutMs: 20_000,
    what: "the second job to be suppressed",
  });
  expect(await readEvents(rig, ids)).toMatchObject([{ attempts: 2, retries: 0, crashes: 0 }]);
  expect(await countNotifications(rig, ids)).toBe(1);
  await endInOrder([second]);
});

test("a dispatcher killed with 100 claims: nobody takes them before the lease is over, then the next tick does, with one attempt more", async () => {
  const rig = await openRig();
  const gate = await beforeDone(rig);
  const killed = await rig.start("general");
  const ids = await publishNotifications(rig, 100);
  await gate.untilWaiting(2);
  killed.kill("SIGKILL");
  await killed.waitForExit();
  await gate.dropWaiting();
  await gate.open();
  const next = await rig.start("general");
  await untilTicked(next, 3);
  expect(new Set((await readEvents(rig, ids)).map(({ status, attempts }) => `${status} ${attempts}`))).toEqual(new Set(["PROCESSING 1"]));
  await loseLeases(rig);
  await untilStatus(rig, ids, "DONE");
  expect(new Set((await readEvents(rig, ids)).map(({ attempts, retries, crashes }) => [attempts, retries, crashes].join(" ")))).toEqual(
    new Set(["2 0 0"]),
  );
  await untilNotified(rig, ids);
  expect(await countNotifications(rig, ids)).toBe(100);
  await endInOrder([next]);
});

/** A worker that reaches Redis through a proxy of its own: paused, it keeps the claims it makes, as the adds have no answer. */
async function startBehindProxy(rig: Rig): Promise<{ worker: Worker; proxy: TcpProxy }> {
  const proxy = await startTcpProxy({ toPort: Number(new URL(rig.env["REDIS_URL"] ?? "").port) });
  onTestFinished(() => proxy.close());
  const worker = await rig.start("general", { env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` } });
  await waitFor(async () => (await worker.status("/readyz")) === 200, { what: "readiness" });
  return { worker, proxy };
}

test("a dispatcher stopped past its lease changes nothing of another's claim when it goes on, and says that the lease is lost", async () => {
  const rig = await openRig();
  const zombie = await startBehindProxy(rig);
  zombie.proxy.pause();
  const ids = await publishNotifications(rig, 1);
  const [id = ""] = ids;
  await untilStatus(rig, ids, "PROCESSING");
  zombie.worker.kill("SIGSTOP");
  await zombie.proxy.resume();
  const owner = await startBehindProxy(rig);
  owner.proxy.pause();
  await loseLeases(rig);
  await waitFor(async () => (await readEvents(rig, ids))[0]?.attempts === 2, { what: "the event to be claimed again" });
  // Both hold what they take for their claim; only the first one goes on.
  owner.worker.kill("SIGSTOP");
  const claimed = await readEvents(rig, ids);
  expect(claimed).toMatchObject([{ status: "PROCESSING", attempts: 2, retries: 0 }]);
  zombie.worker.kill("SIGCONT");
  await waitFor(async () => (await zombie.worker.metric("outbox_lease_lost_total")) === 1, { timeoutMs: 20_000, what: "the lost lease" });
  await zombie.worker.waitForLine(new RegExp(`"eventId":"${id}".*lease lost`));
  expect(await readEvents(rig, ids)).toEqual(claimed);
  await owner.proxy.resume();
  owner.worker.kill("SIGCONT");
  // The owner settles; where its add had no answer in time, after a moment's wait that counts as no failure.
  await waitFor(async () => (await makeDue(rig), (await readEvents(rig, ids))[0]?.status === "DONE"), { timeoutMs: 20_000, what: "DONE" });
  await untilNotified(rig, ids);
  expect(await readEvents(rig, ids)).toMatchObject([{ retries: 0, crashes: 0 }]);
  expect(await countNotifications(rig, ids)).toBe(1);
  await endInOrder([zombie.worker, owner.worker]);
});

test("a dispatcher whose clock is ten minutes ahead takes no live lease, makes nothing due early and purges nothing early", async () => {
  const rig = await openRig({ env: { OUTBOX_LEASE_MS: "60000", OUTBOX_DONE_RETENTION_HOURS: "1" } });
  const queue = await openQueue(rig);
  const old = await publishNotifications(rig, 2, new Date(Date.now() + 60 * 60_000));
  await rig.database.pool.query(
    `UPDATE "OutboxEvent" e SET "status" = 'DONE', "blocksLine" = false, "processedAt" = clock_timestamp() - age FROM
       unnest($1::uuid[], ARRAY[interval '55 minutes', interval '61 minutes']) AS aged(id, age) WHERE e."id" = aged.id`,
    [old],
  );
  await rig.database.pool.query(
    `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "tenantId", "outcome") SELECT id, 'notification-create', 'acme', 'done' FROM unnest($1::uuid[]) id`,
    [old],
  );
  const holder = await startBehindProxy(rig);
  holder.proxy.pause();
  const held = await publishNotifications(rig, 1);
  await untilStatus(rig, held, "PROCESSING");
  // From here on only the one with the wrong clock does anything.
  holder.worker.kill("SIGSTOP");
  const later = await publishNotifications(rig, 1, new Date(Date.now() + 5 * 60_000));
  const before = await readEvents(rig, held);
  const ahead = await rig.start("general", {
    preload: [new URL("./preload/shift-clock.ts", import.meta.url)],
    env: { SHIFT_CLOCK_MS: "600000" },
  });
  await ahead.waitForLine(/QUEUE\.CLOCK_SKEW|clock/);
  await queue.addAll([{ queue: "toolctrl.maintenance", id: "cleanup-now", name: "cleanup.run", data: {} }]);
  await waitFor(async () => (await queue.find("toolctrl.maintenance", "cleanup-now"))?.state === "completed", {
    timeoutMs: 20_000,
    what: "retention to have run",
  });
  await untilTicked(ahead, 5);
  expect(before).toMatchObject([{ status: "PROCESSING", attempts: 1 }]);
  expect(await readEvents(rig, held)).toEqual(before);
  expect(await readEvents(rig, later)).toMatchObject([{ status: "PENDING", attempts: 0 }]);
  expect(await readEvents(rig, old)).toMatchObject([{ status: "DONE" }]);
  expect(await readEvents(rig, old.slice(0, 1))).toHaveLength(1);
  await holder.proxy.resume();
  holder.worker.kill("SIGCONT");
  await waitFor(async () => (await makeDue(rig), (await readEvents(rig, held))[0]?.status === "DONE"), { timeoutMs: 20_000, what: "DONE" });
  await endInOrder([holder.worker, ahead]);
});

test("with the queue on PostgreSQL, where job locks are reckoned by the worker's clock, such a worker does not start", async () => {
  const rig = await openRig({ kind: "postgres" });
  const refused = rig.start("general", {
    preload: [new URL("./preload/shift-clock.ts", import.meta.url)],
    env: { SHIFT_CLOCK_MS: "600000" },
  });
  await expect(refused).rejects.toThrow(/QUEUE\.CLOCK_SKEW/);
});
