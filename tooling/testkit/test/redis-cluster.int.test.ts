// Mostly waits: a master that begins serves nothing for two seconds.
import { expect, onTestFinished, test } from "vitest";
import { askRedis } from "../src/ask-redis.ts";
import { startRedisCluster } from "../src/redis-cluster.ts";
import { waitFor } from "../src/wait.ts";

test("three masters share the slots; one that was killed finds its place again", async () => {
  const cluster = await startRedisCluster();
  onTestFinished(() => cluster.close());
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("expected three nodes");
  const owners = await Promise.allSettled(cluster.nodes.map(({ url }) => askRedis(url, "SET", "{a}", "1")));
  expect(owners.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(owners.filter((answer) => answer.status === "rejected" && String(answer.reason).includes("MOVED"))).toHaveLength(2);
  const ownersOf = async (): Promise<string> => JSON.stringify(await askRedis(first.url, "CLUSTER", "SLOTS"));
  const before = await ownersOf();
  await second.kill();
  await expect(askRedis(second.url, "PING")).rejects.toThrow(/Connection is closed|ECONNREFUSED/);
  await second.start();
  await cluster.untilServing();
  expect(await ownersOf()).toBe(before);
  expect(cluster.url).toBe(
    `redis+cluster://127.0.0.1:${first.port}?node=127.0.0.1:${second.port}&node=127.0.0.1:${cluster.nodes[2]?.port}`,
  );
  const { pid } = first;
  await cluster.close();
  expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
});

test("with replicas, one takes the place of a master that was killed, with what it had", async () => {
  const cluster = await startRedisCluster({ replicas: true });
  onTestFinished(() => cluster.close());
  const { master, replica } = await cluster.ownerOf("{a}");
  if (replica === undefined) throw new Error("expected a replica of the master that has the key");
  await askRedis(master.url, "SET", "{a}", "1");
  await master.kill();
  const isPromoted = async (): Promise<boolean> => String(await askRedis(replica.url, "ROLE")).startsWith("master");
  await waitFor(isPromoted, { timeoutMs: 30_000, what: "the replica to be promoted" });
  expect(await askRedis(replica.url, "GET", "{a}")).toBe("1");
});
