import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, it, onTestFinished } from "vitest";
import { createQueueBackend, type QueueBackendOptions } from "../src/backend.ts";
import { jobIdFor } from "../src/job-id.ts";
import type { QueueBackend } from "../src/port.ts";
import { postgresHarness } from "./support-postgres.ts";
import { redisHarness } from "./support-redis.ts";

const QUEUE = "outbox.audit";
const FAST_LOCKS = { lockMs: 500, stalledCheckMs: 200 };
const id = jobIdFor("e");

async function open(options: QueueBackendOptions): Promise<QueueBackend> {
  const backend = await createQueueBackend(options);
  onTestFinished(() => backend.close(500));
  return backend;
}

async function startWorker({ log: _log, ...options }: QueueBackendOptions, ...args: string[]): Promise<ChildHandle> {
  const child = spawnNode(new URL("./worker-process.ts", import.meta.url), { args: ["--options", JSON.stringify(options), ...args] });
  await child.waitForLine(/^ready$/);
  return child;
}

describe.each([redisHarness(), postgresHarness()])("workers in processes: $kind", (harness) => {
  it("aborts a handler that blocked its event loop for five locks, runs the job elsewhere, and keeps both workers alive", async () => {
    const options = { ...(await harness.namespace()), ...FAST_LOCKS };
    const backend = await open(options);
    const [blocked, idle] = await Promise.all([startWorker(options), startWorker(options, "--later")]);
    await backend.addAll([{ queue: QUEUE, id, name: "t", data: { blockMs: 5 * FAST_LOCKS.lockMs } }]);
    await blocked.waitForLine(/^start outbox-e 1 0$/);
    idle.kill("SIGUSR2");
    await idle.waitForLine(/^start outbox-e 2 0$/);
    await idle.waitForLine(/^end outbox-e 2$/);
    await blocked.waitForLine(/^aborted outbox-e QUEUE\.LOCK_LOST$/);
    await blocked.waitForLine(/^end outbox-e 1$/);
    await waitFor(async () => (await backend.find(QUEUE, id))?.state === "completed");
    const more = Array.from({ length: 40 }, (_, n) => ({ queue: QUEUE, id: jobIdFor(n), name: "t", data: {} }) as const);
    await backend.addAll(more);
    await waitFor(async () => (await backend.counts(QUEUE)).completed === 41);
    for (const child of [blocked, idle]) {
      expect(child.lines().some((line) => line.startsWith("dead"))).toBe(false);
      child.kill("SIGTERM");
      expect(await child.waitForExit()).toEqual({ code: 0, signal: null });
    }
  });

  it("lets a job whose workers are killed die after as many stalls as it has attempts, tells it, and runs its next generation", async () => {
    const options = { ...(await harness.namespace()), ...FAST_LOCKS, attempts: 2 };
    const backend = await open(options);
    await backend.addAll([{ queue: QUEUE, id, name: "t", data: {} }]);
    for (const start of [1, 2, 3]) {
      const child = await startWorker(options, "--hangs");
      await child.waitForLine(new RegExp(`^start outbox-e ${start} 0$`));
      // Who takes the job from a dead worker is told of it, once.
      expect(child.lines().filter((line) => line === "stalled outbox-e")).toHaveLength(start === 1 ? 0 : 1);
      child.kill("SIGKILL");
      await child.waitForExit();
    }
    const last = await startWorker(options);
    await last.waitForLine(/^dead outbox-e QUEUE\.STALLED$/);
    expect(last.lines().some((line) => line.startsWith("start"))).toBe(false);
    const view = await backend.find(QUEUE, id);
    expect(view).toMatchObject({ state: "failed", failedReason: expect.stringContaining("stalled") as string });
    expect((await backend.counts(QUEUE)).failed).toBe(1);
    await backend.addAll([{ queue: QUEUE, id: jobIdFor("e", 1), name: "t", data: {} }]);
    await last.waitForLine(/^end outbox-e-1 1$/);
  });
});
