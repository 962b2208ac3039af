import assert from "node:assert/strict";
import { jobIdFor } from "../job-id.ts";
import type { DeliveredJob, JobOutcome, QueueBackend } from "../port.ts";
import { newJob, openedBackends, QUEUE, type QueueHarness, type SuiteApi } from "./harness.ts";

export function describeDelivering(harness: QueueHarness, api: SuiteApi): void {
  api.describe("delivering", () => {
    describeOutcomes(harness, api);
    describeThrows(harness, api);
    describeBackoff(harness, api);
    describeDeaths(harness, api);
    describeBadDeaths(harness, api);
  });
}

interface Seen {
  readonly jobs: DeliveredJob[];
  readonly dead: { id: string; message: string; code: string }[];
}

/** A worker that answers with the next of some outcomes, the last one for ever, and notes what it saw. */
function workScript(backend: QueueBackend, outcomes: (() => JobOutcome | Promise<JobOutcome>)[]): Seen {
  const seen: Seen = { jobs: [], dead: [] };
  backend.work(
    QUEUE,
    async (job) => {
      seen.jobs.push(job);
      return (outcomes[Math.min(seen.jobs.length, outcomes.length) - 1] as () => JobOutcome)();
    },
    {
      concurrency: 1,
      onDead: async (job, error) => {
        seen.dead.push({ id: job.id, message: error.message, code: String((error as { code?: string }).code) });
      },
    },
  );
  return seen;
}

const done = (): JobOutcome => ({ kind: "done" });
const retry = (afterMs?: number) => (): JobOutcome => ({
  kind: "retry",
  error: new Error("boom"),
  ...(afterMs === undefined ? {} : { afterMs }),
});
const id = jobIdFor("e");

function describeOutcomes(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;
  const ended = (backend: QueueBackend, state: "completed" | "failed") =>
    waitFor(async () => (await backend.find(QUEUE, id))?.state === state, { what: state });

  api.it("delivers what was added and stores nothing of what the handler returned", async () => {
    const { backend, options } = await fresh({ attempts: 4 });
    const data = { text: 'O"Br\\ien\nÜ\u2028😀', n: 1.5, list: [null, true, { deep: [[]] }] };
    const seen = workScript(backend, [() => ({ kind: "done", result: "x".repeat(1000) })]);
    await backend.addAll([newJob(id, data)]);
    await ended(backend, "completed");
    const [job] = seen.jobs;
    assert.deepEqual(job?.data, data);
    assert.deepEqual({ id: job?.id, queue: job?.queue, name: job?.name }, { id, queue: QUEUE, name: "test.thing.happened" });
    assert.deepEqual(
      { failures: job?.failures, maxAttempts: job?.maxAttempts, starts: job?.starts },
      { failures: 0, maxAttempts: 4, starts: 1 },
    );
    assert.ok([null, undefined].includes((await harness.raw(options, { queue: QUEUE, id })).returnvalue as null));
  });

  api.it("tells jobs that may still run from those that ended and those it does not know", async () => {
    const { backend } = await fresh({ attempts: 1 });
    const ids = (["done", "dead", "running", "waiting", "later", "unknown"] as const).map((name) => jobIdFor(name));
    const [finished = "", dead = "", running = "", waiting = "", later = ""] = ids;
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const seen = workScript(backend, [
      done,
      () => ({ kind: "cancel", error: new Error("boom") }),
      async () => {
        await held;
        return { kind: "done" };
      },
    ]);
    for (const [index, added] of [finished, dead, running].entries()) {
      await backend.addAll([newJob(added)]);
      await waitFor(() => seen.jobs.length === index + 1, { what: `${added} to start` });
    }
    await backend.addAll([newJob(waiting), { ...newJob(later), delayMs: 60_000 }]);
    assert.deepEqual(await backend.findLive(QUEUE, ids), new Set([running, waiting, later]));
    assert.deepEqual(await backend.findLive(QUEUE, []), new Set());
    release();
  });

  api.it("snoozes as often as is asked, uses no attempt, and then goes on", async () => {
    const { backend } = await fresh({ attempts: 1 });
    const snooze = (): JobOutcome => ({ kind: "snooze", untilMs: Date.now() + 20 });
    const seen = workScript(backend, [snooze, snooze, snooze, snooze, done]);
    await backend.addAll([newJob(id)]);
    await ended(backend, "completed");
    assert.deepEqual(
      seen.jobs.map((job) => [job.starts, job.failures]),
      [
        [1, 0],
        [2, 0],
        [3, 0],
        [4, 0],
        [5, 0],
      ],
    );
    assert.deepEqual(seen.dead, []);
  });
}

function describeThrows(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;
  const ended = (backend: QueueBackend): Promise<unknown> => waitFor(async () => (await backend.find(QUEUE, id))?.state === "completed");

  api.it("takes a throw, whatever was thrown, and a missing outcome for a failed attempt", async () => {
    const { backend } = await fresh({ attempts: 5, backoffMs: 1 });
    const seen = workScript(backend, [
      () => Promise.reject(new Error("thrown")),
      () => Promise.reject("a text"),
      () => undefined as unknown as JobOutcome,
      () => ({ kind: "snooze", untilMs: Number.NaN }),
      done,
    ]);
    await backend.addAll([newJob(id)]);
    await ended(backend);
    assert.deepEqual(
      seen.jobs.map((job) => job.failures),
      [0, 1, 2, 3, 4],
    );
    const view = await backend.find(QUEUE, id);
    assert.deepEqual({ failures: view?.failures, starts: view?.starts }, { failures: 4, starts: 5 });
    assert.deepEqual(seen.dead, []);
  });

  api.it("is not misled by an error whose name means something to the queue", async () => {
    const { backend } = await fresh({ attempts: 3, backoffMs: 1 });
    const named = (name: string) => (): Promise<JobOutcome> => Promise.reject(Object.assign(new Error("boom"), { name }));
    const seen = workScript(backend, [named("DelayedError"), named("UnrecoverableError"), done]);
    await backend.addAll([newJob(id)]);
    await ended(backend);
    assert.deepEqual(
      seen.jobs.map((job) => job.failures),
      [0, 1, 2],
    );
  });
}

function describeBackoff(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("doubles the wait after each failure, and never runs a job more often than it has attempts", async () => {
    const { backend, options } = await fresh({ attempts: 4, backoffMs: 60_000 });
    const seen = workScript(backend, [retry()]);
    await backend.addAll([newJob(id)]);
    for (const delay of [60_000, 120_000, 240_000]) {
      await waitFor(async () => (await backend.find(QUEUE, id))?.state === "delayed");
      const raw = await harness.raw(options, { queue: QUEUE, id });
      assert.equal(raw.delay, delay);
      await raw.promote();
    }
    await waitFor(async () => (await backend.find(QUEUE, id))?.state === "failed");
    assert.deepEqual(
      seen.jobs.map((job) => job.failures),
      [0, 1, 2, 3],
    );
    assert.equal((await backend.find(QUEUE, id))?.failures, 4);
    await waitFor(() => seen.dead.length === 1);
  });

  api.it("waits as long as a failure asks for, counts it as an attempt, and returns to its own backoff", async () => {
    const { backend, options } = await fresh({ attempts: 3, backoffMs: 1000 });
    const seen = workScript(backend, [retry(7_000_000), retry(), retry(9_000_000)]);
    await backend.addAll([newJob(id)]);
    for (const delay of [7_000_000, 2000]) {
      await waitFor(async () => (await backend.find(QUEUE, id))?.state === "delayed");
      const raw = await harness.raw(options, { queue: QUEUE, id });
      assert.equal(raw.delay, delay);
      await raw.promote();
    }
    await waitFor(async () => (await backend.find(QUEUE, id))?.state === "failed", { what: "death in spite of a wished delay" });
    assert.equal(seen.jobs.length, 3);
  });
}

function describeDeaths(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("tells once, with the handler's error, that a job has used up its attempts", async () => {
    const { backend } = await fresh({ attempts: 3, backoffMs: 1 });
    const seen = workScript(backend, [retry()]);
    await backend.addAll([newJob(id), newJob(jobIdFor("other"))]);
    await waitFor(async () => (await backend.counts(QUEUE)).failed === 2);
    await waitFor(() => seen.dead.length === 2);
    assert.equal(seen.jobs.length, 6);
    assert.deepEqual(seen.dead.map((dead) => dead.id).toSorted(), [id, jobIdFor("other")]);
    assert.ok(seen.dead.every((dead) => dead.message === "boom"));
    assert.equal((await backend.find(QUEUE, id))?.failedReason, "boom");
  });

  api.it("ends a cancelled job at once and tells it", async () => {
    const { backend } = await fresh({ attempts: 5, backoffMs: 1 });
    const seen = workScript(backend, [() => ({ kind: "cancel", error: new Error("never") })]);
    await backend.addAll([newJob(id)]);
    await waitFor(() => seen.dead.length === 1);
    const view = await backend.find(QUEUE, id);
    assert.deepEqual(
      { state: view?.state, failures: view?.failures, reason: view?.failedReason },
      { state: "failed", failures: 1, reason: "never" },
    );
    assert.equal(seen.jobs.length, 1);
  });
}

function describeBadDeaths(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("goes on, and logs the job's id, when onDead fails", async () => {
    const { backend } = await fresh({ attempts: 1 });
    const worker = backend.work(QUEUE, async () => ({ kind: "retry", error: new Error("boom") }), {
      concurrency: 1,
      onDead: () => Promise.reject(new Error("no receipt")),
    });
    await backend.addAll([newJob(id), newJob(jobIdFor("next"))]);
    await waitFor(async () => (await backend.counts(QUEUE)).failed === 2);
    await worker.close(1000);
    for (const jobId of [id, jobIdFor("next")]) {
      assert.ok(
        harness.logged().some((line) => line.includes("onDead failed") && line.includes(`"${jobId}"`) && line.includes("no receipt")),
      );
    }
  });

  api.it("ends a job whose error holds what a server cannot store", async () => {
    const { backend } = await fresh({ attempts: 1 });
    const error = new Error("a\u0000b \ud83d");
    // One character before its end a pair would be cut in two.
    error.stack = `\u0000${"x".repeat(1998)}😀`;
    workScript(backend, [() => ({ kind: "retry", error })]);
    await backend.addAll([newJob(id)]);
    const view = await waitFor(async () => {
      const found = await backend.find(QUEUE, id);
      return found?.state === "failed" && found;
    });
    assert.equal(view.failedReason, "a\uFFFDb \uFFFD");
  });

  api.it("shows a job that is looked at while it fails either before its end or with all of it", async () => {
    const { backend } = await fresh({ attempts: 1 });
    backend.work(QUEUE, async () => ({ kind: "retry", error: new Error("boom") }), { concurrency: 5 });
    const jobs = Array.from({ length: 50 }, (_, n) => newJob(jobIdFor(n)));
    await backend.addAll(jobs);
    const untilFailed = async (jobId: string) => {
      for (;;) {
        const view = await backend.find(QUEUE, jobId);
        if (view?.state === "failed") return view;
      }
    };
    const views = await Promise.all(jobs.map((job) => untilFailed(job.id)));
    assert.ok(views.every((view) => view.failedReason === "boom" && view.failures === 1 && view.finishedAt !== null));
  });

  api.it("keeps of a huge error only a bounded part", async () => {
    const { backend } = await fresh({ attempts: 1 });
    workScript(backend, [() => ({ kind: "retry", error: new Error("x".repeat(500_000)) })]);
    await backend.addAll([newJob(id)]);
    const view = await waitFor(async () => {
      const found = await backend.find(QUEUE, id);
      return found?.state === "failed" && found;
    });
    assert.ok((view.failedReason ?? "").length <= 1000);
  });
}
