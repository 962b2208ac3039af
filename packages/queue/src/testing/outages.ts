import assert from "node:assert/strict";
import { jobIdFor } from "../job-id.ts";
import type { QueueBackend } from "../port.ts";
import { codesOf, newJob, openedBackends, QUEUE, type OwnServer, type QueueHarness, type SuiteApi } from "./harness.ts";

const ADD_TIMEOUT_MS = 2000;

/** Resolves to the seconds a promise took, as a bound is what these cases are about. */
async function secondsOf(run: () => Promise<unknown>): Promise<number> {
  const before = performance.now();
  await run();
  return (performance.now() - before) / 1000;
}

export function describeOutages(harness: QueueHarness, api: SuiteApi): void {
  api.describe("outages", () => {
    const servers: OwnServer[] = [];
    // Registered first, so it runs last: backends close before their server does.
    api.afterEach(async () => {
      await Promise.all(servers.splice(0).map((server) => server.close()));
    });
    const own = async (started: boolean): Promise<OwnServer> => {
      const server = await harness.ownServer(started);
      servers.push(server);
      if (started) await server.start();
      return server;
    };
    describeAway(harness, api, own);
    describeReadOnly(harness, api, own);
    describeBrokenNetwork(harness, api, own);
  });
}

type Own = (started: boolean) => Promise<OwnServer>;

function collect(backend: QueueBackend): Set<string> {
  const seen = new Set<string>();
  backend.work(QUEUE, async (job) => (seen.add(job.id), { kind: "done" }), { concurrency: 5 });
  return seen;
}

/** The probe has a connection of its own, which may still be in a pause when the others are there. */
async function untilAnswered({ waitFor }: QueueHarness, backend: QueueBackend): Promise<void> {
  await waitFor(async () => (await backend.ping(), true), { timeoutMs: 20_000, what: "the probe to be answered" });
}

function describeAway(harness: QueueHarness, api: SuiteApi, own: Own): void {
  const { open } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("settles every add in time while the server has never been up, and works once it is, without a new backend", async () => {
    const server = await own(false);
    const backend = await open(server.options);
    const jobs = Array.from({ length: 50 }, (_, n) => newJob(jobIdFor(n)));
    const seen = collect(backend);
    const seconds = await secondsOf(async () =>
      assert.deepEqual(new Set(codesOf(await backend.addAll(jobs))), new Set(["QUEUE.UNREACHABLE"])),
    );
    assert.ok(seconds < 5, `expected the adds to settle within 5 s, got ${seconds} s`);
    await assert.rejects(backend.ping(), /QUEUE|expected/);
    await server.start();
    await waitFor(async () => codesOf(await backend.addAll(jobs)).every((code) => code === "ok"), {
      timeoutMs: 20_000,
      what: "the adds to be taken",
    });
    await waitFor(() => seen.size === jobs.length, { timeoutMs: 20_000, what: "all jobs to be handled" });
    await untilAnswered(harness, backend);
  });

  api.it("closes in time and twice while the server is away, with a handler that runs and one that does not end", async () => {
    const server = await own(true);
    const idle = await open(server.options);
    const busy = await open(server.options);
    let running = 0;
    busy.work(QUEUE, () => ((running += 1), new Promise(() => undefined)), { concurrency: 1 });
    await busy.addAll([newJob(jobIdFor("e"))]);
    await waitFor(() => running === 1);
    idle.work(QUEUE, async () => ({ kind: "done" }), { concurrency: 1 });
    await idle.ping();
    await server.stop();
    const seconds = await secondsOf(() => Promise.all([idle.close(8000), busy.close(500), idle.close(8000), busy.close(500)]));
    assert.ok(seconds < 8, `expected the close to end within its grace, got ${seconds} s`);
  });

  api.it("closes in time while the server has never been up, or does not speak", async () => {
    const server = await own(false);
    const away = await open(server.options);
    away.work(QUEUE, async () => ({ kind: "done" }), { concurrency: 1 });
    await server.start();
    server.silence();
    const silent = await open(server.options);
    silent.work(QUEUE, async () => ({ kind: "done" }), { concurrency: 1 });
    await Promise.all([away, silent].map((backend) => backend.addAll([newJob(jobIdFor("e"))])));
    const seconds = await secondsOf(() => Promise.all([away.close(3000), silent.close(3000)]));
    assert.ok(seconds < 6, `expected the close to end soon after its grace, got ${seconds} s`);
  });
}

function describeReadOnly(harness: QueueHarness, api: SuiteApi, own: Own): void {
  const { open } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("fails fast on a server that takes no writes, and goes on by itself when it does again", async () => {
    const server = await own(true);
    const backend = await open(server.options);
    const seen = collect(backend);
    await backend.addAll([newJob(jobIdFor("before"))]);
    await waitFor(() => seen.size === 1);
    await server.setReadOnly(true);
    const jobs = Array.from({ length: 20 }, (_, n) => newJob(jobIdFor(n)));
    const seconds = await secondsOf(async () =>
      assert.deepEqual(new Set(codesOf(await backend.addAll(jobs))), new Set(["QUEUE.UNREACHABLE"])),
    );
    assert.ok(seconds < 5, `expected a fast refusal, got ${seconds} s`);
    await assert.rejects(backend.ping(), { code: "QUEUE.UNREACHABLE" });
    await server.setReadOnly(false);
    await waitFor(async () => codesOf(await backend.addAll(jobs)).every((code) => code === "ok"), {
      timeoutMs: 20_000,
      what: "the adds to be taken",
    });
    await waitFor(() => seen.size === 21, { timeoutMs: 30_000, what: "all jobs to be handled" });
    await untilAnswered(harness, backend);
  });
}

function describeBrokenNetwork(harness: QueueHarness, api: SuiteApi, own: Own): void {
  const { open } = openedBackends(harness, api);
  const { waitFor } = harness;

  api.it("goes on consuming after three cut networks and a restart of the server", async () => {
    const server = await own(true);
    const backend = await open(server.options);
    const seen = collect(backend);
    const handled = async (name: string): Promise<void> => {
      const job = newJob(jobIdFor(name));
      await waitFor(async () => codesOf(await backend.addAll([job]))[0] === "ok", { timeoutMs: 20_000, what: `${name} to be added` });
      await waitFor(() => seen.has(job.id), { timeoutMs: 30_000, what: `${name} to be handled` });
    };
    await handled("start");
    for (const name of ["cut-1", "cut-2", "cut-3"]) {
      server.cut();
      await handled(name);
    }
    await server.stop();
    await assert.rejects(backend.ping());
    await server.start();
    await handled("restart");
    await untilAnswered(harness, backend);
  });

  api.it("bounds an add through a network that went silent, and goes on when it speaks again", async () => {
    const server = await own(true);
    const backend = await open(server.options, { addTimeoutMs: ADD_TIMEOUT_MS });
    assert.deepEqual(codesOf(await backend.addAll([newJob(jobIdFor("before"))])), ["ok"]);
    server.silence();
    const jobs = Array.from({ length: 20 }, (_, n) => newJob(jobIdFor(n)));
    let codes: string[] = [];
    const seconds = await secondsOf(async () => (codes = codesOf(await backend.addAll(jobs))));
    assert.ok(seconds < 2 * (ADD_TIMEOUT_MS / 1000), `expected the adds to settle, got ${seconds} s`);
    assert.ok(
      codes.every((code) => code === "QUEUE.TIMEOUT" || code === "QUEUE.UNREACHABLE"),
      codes.join(" "),
    );
    await assert.rejects(backend.ping());
    await server.resume();
    await waitFor(async () => codesOf(await backend.addAll(jobs)).every((code) => code === "ok"), {
      timeoutMs: 20_000,
      what: "the adds to be taken",
    });
  });
}
