import type { Cluster } from "ioredis";

/** The clock of the node that keeps the queue's keys. TIME alone, which names no key, would ask any node. */
export async function readClusterClock(cluster: Pick<Cluster, "eval">, key: string): Promise<[string, string]> {
  return (await cluster.eval(`return redis.call("TIME")`, 1, key)) as [string, string];
}
