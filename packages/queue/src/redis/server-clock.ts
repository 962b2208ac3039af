import type { RedisClient } from "@toolctrl/redis/client";

/** The clock of the server that keeps a key, ms. TIME alone names no key: a cluster's client would ask any node. */
export async function readServerClock(client: RedisClient, key: string): Promise<number> {
  const [seconds, microseconds] = (await client.eval(`return redis.call("TIME")`, 1, key)) as [string, string];
  return Number(seconds) * 1000 + Number(microseconds) / 1000;
}
