// Mostly waits: for masters that begin.
import { randomUUID } from "node:crypto";
import { startRedisCluster, type RedisCluster } from "@toolctrl/testkit/redis-cluster";
import { waitFor } from "@toolctrl/testkit/wait";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createRedisStore } from "../src/redis.ts";
import { describeIdempotencyProtocol, describeKeyValueStore } from "../src/testing.ts";
import { openClusterFixture } from "./fixtures.ts";

const api = { afterAll, beforeAll, describe, it };
const UNAVAILABLE = { code: "STORE.UNAVAILABLE", retry: true };

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster.close());

describeKeyValueStore("redis cluster", () => openClusterFixture(cluster), api);
describeIdempotencyProtocol("redis cluster", () => openClusterFixture(cluster), api);

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

it.each(["redis+cluster://127.0.0.1:1?keyPrefix=a", "redis+cluster://127.0.0.1:1/2", "redis+cluster://127.0.0.1:1?family=6"])(
  "refuses %s, before it connects",
  (url) => {
    expect(() => createRedisStore({ url })).toThrow(expect.objectContaining({ code: "STORE.ARGUMENT" }));
  },
);
