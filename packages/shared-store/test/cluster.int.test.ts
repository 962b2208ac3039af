// Mostly waits: for masters that begin.
import { randomUUID } from "node:crypto";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { startRedisCluster, type RedisCluster } from "@toolctrl/testkit/redis-cluster";
import { startTcpProxy, type TcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createRedisStore } from "../src/redis.ts";
import { describeIdempotencyProtocol, describeKeyValueStore } from "../src/testing.ts";
import { openClusterFixture } from "./fixtures.ts";

const api = { afterAll, beforeAll, describe, it };
const UNAVAILABLE = { code: "STORE.UNAVAILABLE", retry: true };

let cluster: RedisCluster;
let proxies: readonly TcpProxy[];
beforeAll(async () => {
  const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort()]);
  proxies = await Promise.all(ports.map((toPort) => startTcpProxy({ toPort })));
  cluster = await startRedisCluster({ ports, announcedPorts: proxies.map(({ port }) => port) });
});
afterAll(async () => {
  await cluster.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

describeKeyValueStore("redis cluster", () => openClusterFixture(cluster, proxies), api);
describeIdempotencyProtocol("redis cluster", () => openClusterFixture(cluster, proxies), api);

it("refuses within its bound while the cluster is away, and serves again once it is there, without a new store", async () => {
  const store = createRedisStore({ url: cluster.url, prefix: "{away}" });
  onTestFinished(() => store.close());
  const key = `{away}:${randomUUID()}`;
  expect(await store.setIfAbsent(key, "a", 60_000)).toBe(true);
  await store.ping();
  await cluster.stop();
  await expect(store.setIfAbsent(key, "b", 60_000)).rejects.toMatchObject(UNAVAILABLE);
  await expect(store.ping()).rejects.toMatchObject(UNAVAILABLE);
  await cluster.start();
  expect(await waitFor(() => store.setIfAbsent(key, "c", 60_000), { what: "the store to recover" })).toBe(true);
});

it("goes on with the replica that is promoted while the key's master hangs", async () => {
  const watched = await startRedisCluster({ replicas: true });
  onTestFinished(() => watched.close());
  const store = createRedisStore({ url: watched.url, prefix: "{hangs}" });
  onTestFinished(() => store.close());
  const key = `{hangs}:${randomUUID()}`;
  expect(await store.setIfAbsent(key, "a", 600_000)).toBe(true);
  const { master } = await watched.ownerOf(key);
  const { pid } = master;
  process.kill(pid, "SIGSTOP");
  onTestFinished(() => void process.kill(pid, "SIGCONT"));
  await expect(store.get(key)).rejects.toMatchObject(UNAVAILABLE);
  expect(await waitFor(() => store.get(key), { what: "the store to recover", timeoutMs: 30_000 })).toMatchObject({ value: "a" });
  await store.ping();
});

it.each(["redis+cluster://127.0.0.1:1?keyPrefix=a", "redis+cluster://127.0.0.1:1/2", "redis+cluster://127.0.0.1:1?family=6"])(
  "refuses %s, before it connects",
  (url) => {
    expect(() => createRedisStore({ url })).toThrow(expect.objectContaining({ code: "STORE.ARGUMENT" }));
  },
);
