import { randomBytes } from "node:crypto";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { clusterUrlOf, startRedisCluster, type RedisCluster } from "@toolctrl/testkit/redis-cluster";
import { startTcpProxy, type TcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { waitFor } from "@toolctrl/testkit/wait";
import type { QueueBackendOptions } from "../src/backend.ts";
import type { OwnServer, QueueHarness } from "../src/testing.ts";
import { createTestLog } from "./support-log.ts";
import { redisTools, withRedis } from "./support-redis.ts";

const BASE = { kind: "redis", attempts: 3, backoffMs: 20 } as const;
const NODES = [0, 1, 2];

/** A Redis Cluster of three masters, which the tests of a file share; each has a prefix, and so a slot, of its own. */
export function clusterHarness(shared: () => Promise<RedisCluster>): QueueHarness {
  const { log, lines } = createTestLog();
  let guarded: Promise<Guarded> | undefined;
  return {
    kind: "redis",
    waitFor,
    logged: () => lines,
    namespace: async () => ({ ...BASE, redisUrl: (await shared()).url, prefix: freshPrefix(), log }),
    async ownServer(begins) {
      guarded ??= guardedCluster();
      const own = await guarded;
      if (!begins) await own.cluster?.stop();
      return ownCluster(own, { ...BASE, prefix: freshPrefix(), log });
    },
    ...redisTools,
  };
}

function freshPrefix(): string {
  return `{t-${randomBytes(6).toString("hex")}}`;
}

interface Guarded {
  readonly proxies: readonly TcpProxy[];
  readonly url: string;
  start(): Promise<void>;
  cluster: RedisCluster | undefined;
}

/** A cluster with a proxy in front of each node, which tells clients of the others' proxies. It begins when it is told to. */
async function guardedCluster(): Promise<Guarded> {
  const ports = await Promise.all(NODES.map(findFreePort));
  const proxies = await Promise.all(ports.map((toPort) => startTcpProxy({ toPort })));
  const announcedPorts = proxies.map(({ port }) => port);
  const guarded: Guarded = {
    proxies,
    url: clusterUrlOf(announcedPorts),
    cluster: undefined,
    async start() {
      if (guarded.cluster === undefined) guarded.cluster = await startRedisCluster({ ports, announcedPorts });
      else await guarded.cluster.start();
    },
  };
  return guarded;
}

/**
 * "The server" is the whole cluster here: its nodes begin and end together, and the network in front of it is one proxy for each. The tests of a
 * file have it one after the other, as each beginning costs two seconds; a test that wants one that has not begun gets it stopped.
 */
function ownCluster(guarded: Guarded, options: Omit<QueueBackendOptions, "redisUrl">): OwnServer {
  const { proxies, url } = guarded;
  const resume = async (): Promise<void> => void (await Promise.all(proxies.map((proxy) => proxy.resume())));
  const setReadOnly = async (readOnly: boolean): Promise<void> => {
    // A node that has keys cannot be made a replica. A master that asks for a replica, and has none, refuses writes too.
    const least = readOnly ? "1" : "0";
    const set = (redisUrl: string) => withRedis({ redisUrl }, (redis) => redis.config("SET", "min-replicas-to-write", least));
    await Promise.all((guarded.cluster?.nodes ?? []).map((node) => set(node.url)));
  };
  return {
    options: { ...options, redisUrl: url },
    start: () => guarded.start(),
    stop: async () => guarded.cluster?.stop(),
    cut: () => proxies.forEach((proxy) => proxy.cut()),
    silence: () => proxies.forEach((proxy) => proxy.pause()),
    resume,
    setReadOnly,
    // The next test's, too; it ends with the file.
    close: resume,
  };
}
