// Mostly waits: for backoffs, locks and outages, and for masters that begin.
import { askRedis } from "@toolctrl/testkit/ask-redis";
import { startRedisCluster, type RedisCluster } from "@toolctrl/testkit/redis-cluster";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { createQueueBackend, type QueueBackendOptions } from "../src/backend.ts";
import { jobIdFor } from "../src/job-id.ts";
import type { NewJob, QueueBackend } from "../src/port.ts";
import { describeQueueBackend } from "../src/testing.ts";
import { clusterHarness } from "./support-cluster.ts";
import { createTestLog } from "./support-log.ts";
import { withRedis } from "./support-redis.ts";

const QUEUE = "outbox.audit";

let started: Promise<RedisCluster> | undefined;
const shared = (): Promise<RedisCluster> => (started ??= startRedisCluster());
const harness = clusterHarness(shared);

describeQueueBackend(harness, { describe, it, afterEach });

async function open(changes: Partial<QueueBackendOptions> = {}): Promise<QueueBackend> {
  const backend = await createQueueBackend({ ...(await harness.namespace()), ...changes });
  onTestFinished(() => backend.close(500));
  return backend;
}

/** The last node alone is set up otherwise; afterwards as before. */
async function spoilOne(setting: string, value: string): Promise<void> {
  const redisUrl = (await shared()).nodes.at(-1)?.url ?? "";
  const set = (to: string) => withRedis({ redisUrl }, (redis) => redis.config("SET", setting, to));
  const [, before = ""] = await withRedis({ redisUrl }, (redis) => redis.config("GET", setting));
  onTestFinished(async () => void (await set(before)));
  await set(value);
}

it("asks every master, and tells the worst: one that evicts, one without an append-only file, the fullest", async () => {
  const backend = await open();
  expect(await backend.evictionPolicy()).toEqual({ kind: "known", policy: "noeviction" });
  expect(await backend.persistence()).toEqual({ kind: "known", appendOnly: false });
  await spoilOne("maxmemory-policy", "allkeys-lru");
  expect(await backend.evictionPolicy()).toEqual({ kind: "known", policy: "allkeys-lru" });
  await spoilOne("appendonly", "yes");
  expect(await backend.persistence()).toEqual({ kind: "known", appendOnly: false });
  await spoilOne("maxmemory", String(512 * 1024 * 1024));
  expect(await backend.serverInfo()).toMatchObject({ kind: "known", redis: { maxBytes: 512 * 1024 * 1024 } });
});

it("keeps every key of an installation on one node", async () => {
  const { nodes } = await shared();
  const { prefix } = await harness.namespace();
  const backend = await open({ prefix });
  await backend.addAll([{ queue: QUEUE, id: jobIdFor("e"), name: "t", data: {} }]);
  await backend.ping();
  const keysOf = (redisUrl: string) => withRedis({ redisUrl }, (redis) => redis.keys(`${prefix}*`));
  const found = await Promise.all(nodes.map(({ url }) => keysOf(url)));
  expect(found.filter((keys) => keys.length > 0)).toHaveLength(1);
});

describe("a node that keeps the keys, and is killed,", () => {
  /** A worker of a queue, and the node that keeps it. `handled` adds a job and waits for its end, however long it takes to be accepted. */
  async function workOn(cluster: RedisCluster) {
    const { prefix } = await harness.namespace();
    const backend = await open({ redisUrl: cluster.url, prefix, addTimeoutMs: 2000 });
    const seen = new Set<string>();
    backend.work(QUEUE, async (job) => (seen.add(job.id), { kind: "done" }), { concurrency: 5 });
    const handled = async (name: string): Promise<void> => {
      const job: NewJob = { queue: QUEUE, id: jobIdFor(name), name: "t", data: {} };
      await waitFor(async () => (await backend.addAll([job]))[0]?.ok, { timeoutMs: 20_000, what: `${name} to be added` });
      await waitFor(() => seen.has(job.id), { timeoutMs: 30_000, what: `${name} to be handled` });
    };
    await handled("before");
    const { master: owner, replica } = await cluster.ownerOf(`${prefix}:${QUEUE}:meta`);
    return { backend, handled, owner, replica };
  }

  it("begins again, and everything goes on by itself", async () => {
    const { backend, handled, owner } = await workOn(await shared());
    await owner.kill();
    await expect(backend.ping()).rejects.toMatchObject({ code: "QUEUE.UNREACHABLE" });
    await owner.start();
    await handled("after");
    await waitFor(async () => (await backend.ping(), true), { timeoutMs: 20_000, what: "the probe to be answered" });
  });

  it("stays away, and everything goes on by itself on the replica that is promoted", async () => {
    const cluster = await startRedisCluster({ replicas: true });
    onTestFinished(() => cluster.close());
    const { backend, handled, owner, replica } = await workOn(cluster);
    await owner.kill();
    await handled("after");
    await waitFor(async () => (await backend.ping(), true), { timeoutMs: 20_000, what: "the probe to be answered" });
    expect(String(await askRedis(replica?.url ?? "", "ROLE"))).toMatch(/^master/);
  });
});

it("counts nothing against jobs while the URL of one server leads to a node of a cluster that has not got its keys", async () => {
  const cluster = await shared();
  const options = await harness.namespace();
  const { master } = await cluster.ownerOf(options.prefix);
  const elsewhere = cluster.nodes.find((node) => node !== master);
  const backend = await open({ ...options, ...(elsewhere === undefined ? {} : { redisUrl: elsewhere.url }) });
  const job: NewJob = { queue: QUEUE, id: jobIdFor("moved"), name: "test.thing.happened", data: {} };
  expect(await backend.addAll([job])).toMatchObject([{ ok: false, error: { code: "QUEUE.UNREACHABLE" } }]);
  await expect(backend.ping()).rejects.toMatchObject({ code: "QUEUE.UNREACHABLE" });
});

it.each([
  ["redis+cluster://127.0.0.1:1?node=127.0.0.1:2&keyPrefix=a", "QUEUE.PREFIX"],
  ["redis+cluster://127.0.0.1:1/2", "QUEUE.SETTING"],
  ["redis+cluster://127.0.0.1:1?node=b", "QUEUE.SETTING"],
])("refuses %s, before it connects", async (redisUrl, code) => {
  const { log } = createTestLog();
  const options = { kind: "redis", redisUrl, prefix: "{a}", attempts: 1, backoffMs: 1, log } as const;
  await expect(createQueueBackend(options)).rejects.toMatchObject({ code });
});
