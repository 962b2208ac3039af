import { Redis } from "ioredis";
import { findFreePort } from "./free-port.ts";
import { requireRedisServer } from "./redis-binary.ts";
import { startRedis, type RedisServer } from "./redis-server.ts";
import { startOnSomePort } from "./server-life.ts";
import { waitFor } from "./wait.ts";

export interface RedisClusterOptions {
  /** More arguments of every `redis-server`; they win over the defaults. */
  args?: string[];
  /** Fixed ports, one for each node; without them three free ones. */
  ports?: readonly number[];
  /** The ports under which the nodes tell clients of each other, such as those of proxies in front of them. */
  announcedPorts?: readonly number[];
  log?: (line: string) => void;
}

export interface RedisCluster {
  /** Names every node, as `REDIS_URL` does. */
  readonly url: string;
  /** Each can be stopped, killed and started alone; it finds its place in the cluster again. */
  readonly nodes: readonly RedisServer[];
  /** Waits until every node serves every slot. */
  untilServing(): Promise<void>;
  /** Stops all nodes in good order. */
  stop(): Promise<void>;
  /** Starts them again and waits until they serve. */
  start(): Promise<void>;
  /** Stops them for good and removes their files. */
  close(): Promise<void>;
}

const NODES = 3;
const SLOTS = 16_384;
/** How long a node may be silent before the others call it failed, ms: a busy machine must not make them. */
const NODE_TIMEOUT_MS = 2000;

/**
 * Starts a private Redis Cluster of three masters without replicas on loopback ports, from the machine's own `redis-server`. It takes
 * about two seconds, now and at each start: a master that begins serves nothing for so long.
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  await requireRedisServer(options.log);
  const started = await Promise.allSettled(Array.from({ length: NODES }, (_, index) => startNode(options, index)));
  const running = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const nodes = running.map(({ server }) => server);
  const close = async (): Promise<void> => void (await Promise.all(nodes.map((node) => node.close())));
  const untilServing = async (): Promise<void> => void (await Promise.all(nodes.map(untilNodeServes)));
  try {
    const failed = started.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    await introduce(running);
    await untilServing();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: clusterUrlOf(options.announcedPorts ?? nodes.map(({ port }) => port)),
    nodes,
    untilServing,
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
    async start() {
      await Promise.all(nodes.map((node) => node.start()));
      await untilServing();
    },
    close,
  };
}

/** The address of a cluster, which names all of its nodes. */
export function clusterUrlOf(ports: readonly number[]): string {
  const [first, ...others] = ports.map((port) => `127.0.0.1:${port}`);
  return `redis+cluster://${first}${others.map((node, index) => `${index === 0 ? "?" : "&"}node=${node}`).join("")}`;
}

interface Node {
  readonly server: RedisServer;
  readonly busPort: number;
}

/** The nodes' own port is by default theirs and 10,000, which may be above the last one. */
function startNode({ args = [], ports, announcedPorts, log }: RedisClusterOptions, index: number): Promise<Node> {
  const announced = announcedPorts?.[index];
  return startOnSomePort(async (port) => {
    const busPort = await findFreePort();
    const cluster = ["--cluster-enabled", "yes", "--cluster-port", String(busPort), "--cluster-node-timeout", String(NODE_TIMEOUT_MS)];
    const told = ["--cluster-announce-ip", "127.0.0.1", ...(announced === undefined ? [] : ["--cluster-announce-port", String(announced)])];
    return { server: await startRedis({ port, args: [...cluster, ...told, ...args], ...(log === undefined ? {} : { log }) }), busPort };
  }, ports?.[index]);
}

/** Gives each node its part of the slots, and the first one the others' addresses: it tells them of each other. */
async function introduce(nodes: readonly Node[]): Promise<void> {
  for (const [index, { server }] of nodes.entries()) {
    const from = Math.floor((index * SLOTS) / nodes.length);
    const to = Math.floor(((index + 1) * SLOTS) / nodes.length) - 1;
    await withNode(server, async (redis) => {
      // Two nodes of one epoch would have to agree on new ones first.
      await redis.call("CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
      await redis.call("CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
    });
  }
  const [first, ...others] = nodes;
  if (first === undefined) throw new Error("expected nodes, got none");
  await withNode(first.server, async (redis) => {
    for (const { server, busPort } of others) await redis.call("CLUSTER", "MEET", "127.0.0.1", String(server.port), String(busPort));
  });
}

async function untilNodeServes(server: RedisServer): Promise<void> {
  await withNode(server, async (redis) => {
    const serves = async (): Promise<boolean> => {
      const told = String(await redis.call("CLUSTER", "INFO"));
      return /^cluster_state:ok/m.test(told) && told.includes(`cluster_slots_ok:${SLOTS}`) && told.includes(`cluster_size:${NODES}`);
    };
    await waitFor(serves, { timeoutMs: 30_000, what: `the cluster's node on port ${server.port} to serve` });
  });
}

async function withNode<T>(server: RedisServer, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.url, { retryStrategy: () => null, lazyConnect: true });
  // Told by the command that fails, too.
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}
