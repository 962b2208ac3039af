import assert from "node:assert/strict";
import { jobIdFor } from "../job-id.ts";
import type { DeliveredJob } from "../port.ts";
import { codesOf, gate, newJob, openedBackends, QUEUE, type QueueHarness, type SuiteApi } from "./harness.ts";

const id = jobIdFor("e");

export function describeClosing(harness: QueueHarness, api: SuiteApi): void {
  api.describe("closing", () => {
    describeGrace(harness, api);
    describeForce(harness, api);
    describeAfterwards(harness, api);
  });
}

function describeGrace(harness: QueueHarness, api: SuiteApi): void {
  const { fresh, open } = openedBackends(harness, api);

  api.it("waits for the running handler, stores its outcome, and starts no further job", async () => {
    const { backend, options } = await fresh();
    const running = gate();
    const finish = gate();
    let starts = 0;
    const worker = backend.work(
      QUEUE,
      async () => {
        starts += 1;
        running.open();
        await finish.opened;
        return { kind: "done" };
      },
      { concurrency: 1 },
    );
    await backend.addAll([newJob(id), newJob(jobIdFor("next"))]);
    await running.opened;
    const closes = [worker.close(10_000), worker.close(10_000), backend.close(10_000)];
    finish.open();
    await Promise.all(closes);
    assert.equal(starts, 1);
    const other = await open(options);
    assert.equal((await other.find(QUEUE, id))?.state, "completed");
    assert.equal((await other.find(QUEUE, jobIdFor("next")))?.state, "waiting");
  });
}

function describeForce(harness: QueueHarness, api: SuiteApi): void {
  const { fresh, open } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("aborts a handler that outlasts the grace period, and leaves its job to the next worker with all attempts", async () => {
    const { backend, options } = await fresh({ lockMs: 400, stalledCheckMs: 150, attempts: 1 });
    const reasons: unknown[] = [];
    const running = gate();
    backend.work(
      QUEUE,
      (job: DeliveredJob) => {
        job.signal.addEventListener("abort", () => reasons.push(job.signal.reason));
        running.open();
        return new Promise(() => undefined);
      },
      { concurrency: 1 },
    );
    await backend.addAll([newJob(id)]);
    await running.opened;
    await backend.close(100);
    assert.equal((reasons[0] as { code?: string }).code, "QUEUE.STOPPING");
    const other = await open(options);
    const failures: number[] = [];
    other.work(QUEUE, async (job) => (failures.push(job.failures), { kind: "done" }), { concurrency: 1 });
    await waitFor(async () => (await other.find(QUEUE, id))?.state === "completed");
    assert.deepEqual(failures, [0]);
  });
}

function describeAfterwards(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);

  api.it("awaits what onDead does", async () => {
    const { backend } = await fresh({ attempts: 1 });
    const told = gate();
    let recorded = false;
    const onDead = async (): Promise<void> => {
      told.open();
      await Promise.resolve();
      await backend.counts(QUEUE);
      recorded = true;
    };
    const worker = backend.work(QUEUE, async () => ({ kind: "cancel", error: new Error("never") }), { concurrency: 1, onDead });
    await backend.addAll([newJob(id)]);
    await told.opened;
    await worker.close(5000);
    assert.equal(recorded, true);
  });

  api.it("refuses every request after it", async () => {
    const { backend } = await fresh();
    await backend.close(100);
    await backend.close(100);
    assert.deepEqual(codesOf(await backend.addAll([newJob(id)])), ["QUEUE.UNREACHABLE"]);
    await assert.rejects(backend.counts(QUEUE), { code: "QUEUE.UNREACHABLE" });
    await assert.rejects(backend.ping(), { code: "QUEUE.UNREACHABLE" });
    assert.throws(() => backend.work(QUEUE, async () => ({ kind: "done" }), { concurrency: 1 }), { code: "QUEUE.UNREACHABLE" });
  });
}
