import type { RedisClusterAddress } from "@toolctrl/foundation/redis-url";
import { Cluster, type Redis } from "ioredis";

/** Emitted on a cluster's client when every master can be used. */
export const CLUSTER_USABLE = "usable";

export interface ClusterBounds {
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly reconnectAfterMs: (attempt: number) => number;
}

/** How often, and how long apart (ms), a command follows the slot's node: a lost reply is asked for again, within the bound of a command. */
const REDIRECTIONS = 8;
const RETRY_MS = 100;
/** Pause between the loss of a node and the question where its slots are, ms. */
const LOOK_AGAIN_MS = 100;

/** A client of a Redis Cluster that queues nothing while the cluster is away. */
export function connectCluster(address: RedisClusterAddress, bounds: ClusterBounds): Cluster {
  const { nodes, tls, username, password } = address;
  const cluster = new Cluster(
    nodes.map((node) => ({ ...node })),
    {
      redisOptions: {
        connectTimeout: bounds.connectTimeoutMs,
        commandTimeout: bounds.commandTimeoutMs,
        maxRetriesPerRequest: 1,
        reconnectOnError: (error) => error.message.startsWith("READONLY"),
        ...(username === undefined ? {} : { username }),
        ...(password === undefined ? {} : { password }),
        ...(tls ? { tls: {} } : {}),
      },
      // A certificate is for a name, so it is not replaced by its address.
      ...(tls ? { dnsLookup: (name: string, done: (error: null, address: string) => void) => done(null, name) } : {}),
      clusterRetryStrategy: bounds.reconnectAfterMs,
      enableOfflineQueue: false,
      maxRedirections: REDIRECTIONS,
      retryDelayOnFailover: RETRY_MS,
      retryDelayOnClusterDown: RETRY_MS,
    },
  );
  const tell = (): void => void (isClusterUsable(cluster) && cluster.emit(CLUSTER_USABLE));
  cluster.on("ready", tell);
  cluster.on("-node", () => lookAgain(cluster));
  cluster.on("+node", (node: Redis) => {
    node.once("ready", tell);
    // At once: ioredis would do so for the first command, and refuse those that come before the connection is there. A failure is told by the node's own error event.
    if (node.options.readOnly !== true) node.connect().catch(() => undefined);
  });
  return cluster;
}

/** Asks the other nodes soon where the lost one's slots are. Only the next command would do so, and fail. */
function lookAgain(cluster: Cluster): void {
  setTimeout(() => {
    if (cluster.status === "ready") cluster.refreshSlotsCache();
  }, LOOK_AGAIN_MS).unref();
}

/** Whether a command would be sent now, whichever master has its slot. */
export function isClusterUsable(cluster: Cluster): boolean {
  const masters = cluster.nodes("master");
  return cluster.status === "ready" && masters.length > 0 && masters.every(({ status }) => status === "ready");
}
