import type { RedisClusterAddress } from "@toolctrl/foundation/redis-url";
import { Cluster, type ClusterOptions, type Redis } from "ioredis";

/** Emitted on a cluster's client when a node's connection can be used. */
export const NODE_READY = "node ready";

export interface ClusterClientOptions {
  /** Of the connection to each node. */
  readonly redisOptions: Omit<NonNullable<ClusterOptions["redisOptions"]>, "replyMapping">;
  readonly reconnectAfterMs: (attempt: number) => number;
  /** Whether a command waits through an outage, or fails at once. */
  readonly waits: boolean;
  readonly lazyConnect: boolean;
}

/** How often a command that fails at once follows another node's answer: to the slot's node, and to the one that has just taken it over. */
const FEW_REDIRECTIONS = 3;
/** How often, and how long apart (ms), a command that waits is tried again while the cluster has no node for its slot: 16 s. */
const MANY_REDIRECTIONS = 64;
const AWAY_RETRY_MS = 250;
/** Pause between the loss of a node and the question where its slots are, ms. */
const LOOK_AGAIN_MS = 100;

/**
 * A client of a Redis Cluster. After the loss of a node the others are asked who has its slots: it again, or the replica that was promoted. When
 * all are lost, the nodes of the URL are.
 */
export function connectCluster(address: RedisClusterAddress, options: ClusterClientOptions): Cluster {
  const { redisOptions, reconnectAfterMs, waits, lazyConnect } = options;
  const { nodes, tls, username, password } = address;
  const retryMs = waits ? AWAY_RETRY_MS : 0;
  const cluster = new Cluster(
    nodes.map((node) => ({ ...node })),
    {
      redisOptions: {
        ...redisOptions,
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
        ...(tls ? { tls: {} } : {}),
      },
      // A certificate is for a name, so it is not replaced by its address.
      ...(tls ? { dnsLookup: (name: string, done: (error: null, address: string) => void) => done(null, name) } : {}),
      clusterRetryStrategy: reconnectAfterMs,
      enableOfflineQueue: waits,
      maxRedirections: waits ? MANY_REDIRECTIONS : FEW_REDIRECTIONS,
      // 0 hands the failure on: what was under way is not sent twice.
      retryDelayOnFailover: retryMs,
      retryDelayOnClusterDown: retryMs,
      lazyConnect,
    },
  );
  cluster.on("+node", (node: Redis) => connectMaster(cluster, node));
  cluster.on("-node", () => lookAgain(cluster));
  return cluster;
}

/** Connects at once: ioredis would do so for the first command, and refuse those that come before the connection is there. */
function connectMaster(cluster: Cluster, node: Redis): void {
  node.once("ready", () => cluster.emit(NODE_READY));
  // Told by the node's own error event.
  if (node.options.readOnly !== true) node.connect().catch(() => undefined);
}

/** Asks the other nodes soon where the lost one's slots are. Only the next command would do so, and fail. */
function lookAgain(cluster: Cluster): void {
  setTimeout(() => {
    if (cluster.status === "ready") cluster.refreshSlotsCache();
  }, LOOK_AGAIN_MS).unref();
}

/** Whether a command would be sent now, whichever master has its slot. */
export function isClusterReady(cluster: Cluster): boolean {
  const masters = cluster.nodes("master");
  return cluster.status === "ready" && masters.length > 0 && masters.every(({ status }) => status === "ready");
}
