// Mostly waits: a master that begins serves nothing for two seconds.
import { Redis } from "ioredis";
import { expect, onTestFinished, test } from "vitest";
import { startRedisCluster } from "../src/redis-cluster.ts";

async function ask(url: string, ...command: [string, ...string[]]): Promise<unknown> {
  const redis = new Redis(url, { retryStrategy: () => null, lazyConnect: true });
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    return await redis.call(...command);
  } catch (error) {
    return String(error);
  } finally {
    redis.disconnect();
  }
}

test("three masters share the slots; one that was killed finds its place again", async () => {
  const cluster = await startRedisCluster();
  onTestFinished(() => cluster.close());
  const [first, second] = cluster.nodes;
  if (first === undefined || second === undefined) throw new Error("expected three nodes");
  const owners = (await Promise.all(cluster.nodes.map(({ url }) => ask(url, "SET", "{a}", "1")))).map(String);
  expect(owners.filter((answer) => answer === "OK")).toHaveLength(1);
  expect(owners.filter((answer) => answer.includes("MOVED"))).toHaveLength(2);
  const ownersOf = async (): Promise<string> => JSON.stringify(await ask(first.url, "CLUSTER", "SLOTS"));
  const before = await ownersOf();
  await second.kill();
  await expect(ask(second.url, "PING")).resolves.toContain("Error");
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
