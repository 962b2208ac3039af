import assert from "node:assert/strict";
import { jobIdFor } from "../job-id.ts";
import type { DeliveredJob } from "../port.ts";
import { gate, newJob, openedBackends, QUEUE, type QueueHarness, type SuiteApi } from "./harness.ts";

const FAST_LOCKS = { lockMs: 400, stalledCheckMs: 150 };
const id = jobIdFor("e");

export function describeLocks(harness: QueueHarness, api: SuiteApi): void {
  api.describe("locks", () => {
    describeRenewal(harness, api);
    describeLoss(harness, api);
  });
}

function describeRenewal(harness: QueueHarness, api: SuiteApi): void {
  const { fresh, open } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("keeps a job with its worker for as long as the handler runs, beside an idle one", async () => {
    const { backend, options } = await fresh(FAST_LOCKS);
    const rival = await open(options);
    const starts: number[] = [];
    const handler = async (job: DeliveredJob) => {
      starts.push(job.starts);
      const until = performance.now() + 4 * FAST_LOCKS.lockMs;
      await waitFor(() => performance.now() > until);
      assert.equal(job.signal.aborted, false);
      return { kind: "done" as const };
    };
    backend.work(QUEUE, handler, { concurrency: 1 });
    rival.work(QUEUE, handler, { concurrency: 1 });
    await backend.addAll([newJob(id)]);
    await waitFor(async () => (await backend.find(QUEUE, id))?.state === "completed");
    assert.deepEqual(starts, [1]);
  });
}

function describeLoss(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it(
    "aborts the handler that lost its job, ignores its late outcome, and delivers the job again without using an attempt",
    async () => {
      const { backend, options } = await fresh({ ...FAST_LOCKS, attempts: 2 });
      const late = gate();
      const seen: { starts: number; failures: number }[] = [];
      const reasons: unknown[] = [];
      const handler = async (job: DeliveredJob) => {
        if (job.id !== id) return { kind: "done" as const };
        seen.push({ starts: job.starts, failures: job.failures });
        if (job.starts > 1) return { kind: "done" as const };
        job.signal.addEventListener("abort", () => reasons.push(job.signal.reason));
        await late.opened;
        return { kind: "cancel" as const, error: new Error("too late") };
      };
      const dead: string[] = [];
      backend.work(QUEUE, handler, { concurrency: 2, onDead: async (job) => void dead.push(job.id) });
      await backend.addAll([newJob(id)]);
      await waitFor(() => seen.length === 1);
      await harness.stealLock(options, { queue: QUEUE, id });
      await waitFor(() => reasons.length > 0, { what: "the signal to abort" });
      await waitFor(() => seen.length === 2, { what: "a second delivery" });
      late.open();
      await waitFor(async () => (await backend.find(QUEUE, id))?.state === "completed");
      // A second job through the same worker shows that the late outcome has not hurt it.
      await backend.addAll([newJob(jobIdFor("next"))]);
      await waitFor(async () => (await backend.find(QUEUE, jobIdFor("next")))?.state === "completed");
      assert.deepEqual(seen, [
        { starts: 1, failures: 0 },
        { starts: 2, failures: 0 },
      ]);
      assert.equal((reasons[0] as { code?: string }).code, "QUEUE.LOCK_LOST");
      assert.deepEqual(dead, []);
    },
  );
}
