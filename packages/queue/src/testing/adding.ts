import assert from "node:assert/strict";
import { jobIdFor } from "../job-id.ts";
import type { DeliveredJob } from "../port.ts";
import { codesOf, newJob, openedBackends, OTHER_QUEUE, QUEUE, type QueueHarness, type SuiteApi } from "./harness.ts";

export function describeAdding(harness: QueueHarness, api: SuiteApi): void {
  api.describe("adding", () => {
    describeIds(harness, api);
    describeDelay(harness, api);
    describeBulk(harness, api);
    describePoison(harness, api);
  });
}

function describeIds(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("finds a job under the id made for its event, whatever the event's id looks like", async () => {
    const { backend } = await fresh();
    const ids = ["123", "007", 12n, 42, "0198b0f4-7d2c-7cc3-98c4-dc0c0c07398f"].map((id) => jobIdFor(id));
    assert.deepEqual(
      codesOf(await backend.addAll(ids.map((id) => newJob(id)))),
      ids.map(() => "ok"),
    );
    for (const id of ids) assert.equal((await backend.find(QUEUE, id))?.state, "waiting");
    assert.equal(await backend.find(QUEUE, jobIdFor("unknown")), null);
    assert.deepEqual(await backend.counts(QUEUE), { waiting: ids.length, active: 0, delayed: 0, completed: 0, failed: 0 });
  });

  api.it("keeps the first data when an id is added again, and delivers it once", async () => {
    const { backend, options } = await fresh();
    const id = jobIdFor("twice");
    assert.deepEqual(codesOf(await backend.addAll([newJob(id, { n: 1 }), newJob(id, { n: 2 })])), ["ok", "ok"]);
    assert.deepEqual(codesOf(await backend.addAll([newJob(id, { n: 3 })])), ["ok"]);
    assert.deepEqual((await harness.raw(options, { queue: QUEUE, id })).data, { n: 1 });
    assert.equal((await backend.counts(QUEUE)).waiting, 1);
  });

  for (const ending of ["completed", "failed"] as const) {
    api.it(`runs a new generation beside a kept ${ending} job, and not the old id again`, async () => {
      const { backend } = await fresh({ attempts: 1 });
      const seen: string[] = [];
      backend.work(
        QUEUE,
        async (job) => {
          seen.push(job.id);
          return ending === "failed" && job.id === jobIdFor("e") ? { kind: "retry", error: new Error("boom") } : { kind: "done" };
        },
        { concurrency: 1 },
      );
      await backend.addAll([newJob(jobIdFor("e"))]);
      await waitFor(async () => (await backend.find(QUEUE, jobIdFor("e")))?.state === ending);
      await backend.addAll([newJob(jobIdFor("e"))]);
      await backend.addAll([newJob(jobIdFor("e", 1))]);
      await waitFor(async () => (await backend.find(QUEUE, jobIdFor("e", 1)))?.state === "completed");
      assert.deepEqual(seen, [jobIdFor("e"), jobIdFor("e", 1)]);
    });
  }
}

function describeDelay(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("holds a delayed job back until it is due", async () => {
    const { backend, options } = await fresh();
    const id = jobIdFor("later");
    const seen: DeliveredJob[] = [];
    backend.work(QUEUE, async (job) => (seen.push(job), { kind: "done" }), { concurrency: 1 });
    await backend.addAll([{ ...newJob(id), delayMs: 3_600_000 }, newJob(jobIdFor("now"))]);
    await waitFor(() => seen.length === 1);
    assert.equal((await backend.find(QUEUE, id))?.state, "delayed");
    await (await harness.raw(options, { queue: QUEUE, id })).promote();
    await waitFor(async () => (await backend.find(QUEUE, id))?.state === "completed");
  });
}

function describeBulk(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);

  api.it("answers for each entry in order when jobs of several queues are mixed", async () => {
    const { backend } = await fresh();
    const jobs = Array.from({ length: 1200 }, (_, n) => newJob(n === 700 ? "700" : jobIdFor(n), { n }, n % 2 === 0 ? QUEUE : OTHER_QUEUE));
    const codes = codesOf(await backend.addAll(jobs));
    assert.equal(codes.length, 1200);
    assert.deepEqual(
      codes.flatMap((code, n) => (code === "ok" ? [] : [[n, code]])),
      [[700, "QUEUE.REJECTED"]],
    );
    assert.equal((await backend.counts(QUEUE)).waiting, 599);
    assert.equal((await backend.counts(OTHER_QUEUE)).waiting, 600);
  });

  api.it("lets an entry that cannot be enqueued fail alone", async () => {
    const { backend } = await fresh();
    const cycle: { self?: unknown } = {};
    cycle.self = cycle;
    const bad = [
      newJob("123"),
      newJob("a:b"),
      newJob("meta"),
      newJob(jobIdFor("bigint"), { n: 1n }),
      newJob(jobIdFor("cycle"), cycle),
      { ...newJob(jobIdFor("absent")), data: undefined },
      { ...newJob(jobIdFor("nameless")), name: "" },
      { ...newJob(jobIdFor("nan")), delayMs: Number.NaN },
    ];
    const good = Array.from({ length: 12 }, (_, n) => newJob(jobIdFor(n)));
    const codes = codesOf(await backend.addAll([...good, ...bad]));
    assert.deepEqual(codes, [...good.map(() => "ok"), ...bad.map(() => "QUEUE.REJECTED")]);
    for (const { id } of good) assert.equal((await backend.find(QUEUE, id))?.state, "waiting");
    assert.equal((await backend.counts(QUEUE)).waiting, good.length);
  });
}

function describePoison(harness: QueueHarness, api: SuiteApi): void {
  const { fresh } = openedBackends(harness, api);

  api.it("adds the others one by one when the server refuses an entry of the batch", async () => {
    const { backend, options } = await fresh();
    const poison = await harness.poisonJob(options, jobIdFor("poison"));
    const good = Array.from({ length: 30 }, (_, n) => newJob(jobIdFor(n), { n }, poison.queue));
    const codes = codesOf(await backend.addAll([...good.slice(0, 10), poison, ...good.slice(10)]));
    assert.deepEqual(codes, [...Array<string>(10).fill("ok"), "QUEUE.REJECTED", ...Array<string>(20).fill("ok")]);
    for (const { id } of good) assert.equal((await backend.find(poison.queue, id))?.state, "waiting");
  });

  api.it("takes an empty list", async () => {
    const { backend } = await fresh();
    assert.deepEqual(await backend.addAll([]), []);
  });
}
