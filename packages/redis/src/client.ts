import type { RedisAddress, RedisClusterAddress } from "@toolctrl/foundation/redis-url";
import calculateSlot from "cluster-key-slot";
import { Cluster, Redis, type ClusterOptions } from "ioredis";

/** A client of one server, or of a cluster. */
export type RedisClient = Redis | Cluster;
/** Where a client connects to. */
export type KnownAddress = Exclude<RedisAddress, { kind: "wrong" }>;

export interface ConnectOptions {
  /** Of the connection to the server, or to each node. */
  readonly connection: Omit<NonNullable<ClusterOptions["redisOptions"]>, "replyMapping" | "reconnectOnError"> & {
    /** How long commands may go without any answer until the connection counts as lost, ms: without it one whose other end is gone stays "ready". */
    readonly socketTimeout: number;
  };
  /** Pause before an attempt to connect again, ms. */
  readonly reconnectAfterMs: (attempt: number) => number;
  /** Whether commands wait for a connection; else they fail while there is none. */
  readonly waits: boolean;
  /** One of the keys that will be used: of a cluster's nodes the one that has it counts. */
  readonly key: string;
  readonly following: Following;
  readonly lazyConnect?: boolean;
}

/** What a command does on a cluster that moves or loses its slot. */
export interface Following {
  /** How many answers of other nodes it follows, and how often it is tried again. */
  readonly redirections: number;
  /** Pause before it is tried again because nobody has its slot, ms; 0 hands the failure on: what was under way is not sent twice. */
  readonly retryMs: number;
}

export interface RedisConnection {
  /** Emits `error`, and of one node alone `node error`; both want a listener. */
  readonly client: RedisClient;
  /** The event by which the client tells that it can be used: again after an outage, and now and then without one. */
  readonly usableEvent: string;
  /** Whether a command for the key would be sent now; says nothing about the next moment. */
  isUsable(): boolean;
}

/** Least time between two connections that are left because of what they answer, ms. */
const REFUSED_RECONNECT_MS = 250;
/** Pause between the loss of a node and the question where its slots are, ms. */
const LOOK_AGAIN_MS = 100;

/** A client that begins to connect, unless it is to be lazy. */
export function connectRedis(address: KnownAddress, options: ConnectOptions): RedisConnection {
  if (address.kind === "cluster") return connectCluster(address, options);
  const { connection, reconnectAfterMs, waits, lazyConnect = false } = options;
  const client = new Redis(address.url, {
    ...connection,
    retryStrategy: reconnectAfterMs,
    reconnectOnError: leaveDemotedNode(),
    enableOfflineQueue: waits,
    lazyConnect,
  });
  return { client, usableEvent: "ready", isUsable: () => client.status === "ready" };
}

/**
 * A demoted node keeps the connection and refuses every write; one of a cluster names the node that has the key. A new connection may lead to the new primary.
 * Asked for each refused command of a pipeline, and each "yes" hangs up once more: so only now and then. A client of a cluster follows such answers itself.
 */
function leaveDemotedNode(): (error: Error) => boolean {
  let leftAt = -REFUSED_RECONNECT_MS;
  return ({ message }) => {
    if (!/(?:^|-)(?:READONLY|MOVED)\b/.test(message) || performance.now() - leftAt < REFUSED_RECONNECT_MS) return false;
    leftAt = performance.now();
    return true;
  };
}

/** After the loss of the key's node the others are asked who has its slots: it again, or the replica that was promoted. When all are lost, the nodes of the URL are. */
function connectCluster(address: RedisClusterAddress, options: ConnectOptions): RedisConnection {
  const client = new Cluster(
    address.nodes.map((node) => ({ ...node })),
    clusterOptions(address, options),
  );
  const usableEvent = "usable";
  const slot = calculateSlot(options.key);
  const isUsable = (): boolean => client.status === "ready" && masterOf(client, slot)?.status === "ready";
  const tell = (): void => void client.emit(usableEvent);
  const look = lookForNode(client, isUsable, options.reconnectAfterMs, tell);
  const settle = (): void => (isUsable() ? tell() : look());
  client.on("ready", settle);
  client.on("+node", (node: Redis) => connectMaster(node, settle));
  client.on("-node", look);
  return { client, usableEvent, isUsable };
}

function clusterOptions({ tls, username, password }: RedisClusterAddress, options: ConnectOptions) {
  const { connection, reconnectAfterMs, waits, lazyConnect = false, following } = options;
  return {
    redisOptions: {
      ...connection,
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password }),
      ...(tls ? { tls: {} } : {}),
    },
    // A certificate is for a name, so it is not replaced by its address.
    ...(tls ? { dnsLookup: (name: string, done: (error: null, address: string) => void) => done(null, name) } : {}),
    clusterRetryStrategy: reconnectAfterMs,
    enableOfflineQueue: waits,
    maxRedirections: following.redirections,
    retryDelayOnFailover: following.retryMs,
    retryDelayOnClusterDown: following.retryMs,
    lazyConnect,
  } satisfies ClusterOptions;
}

/** The node that has a slot, as far as the client knows. */
function masterOf(client: Cluster, slot: number): Redis | undefined {
  const [address] = client.slots[slot] ?? [];
  return client.nodes("master").find(({ options }) => `${options.host}:${options.port}` === address);
}

/** Connects at once: ioredis would do so for the first command, and refuse those that come before the connection is there. */
function connectMaster(node: Redis, onReady: () => void): void {
  node.once("ready", onReady);
  // Told by the node's own error event.
  if (node.options.readOnly !== true) node.connect().catch(() => undefined);
}

/**
 * Asks the nodes soon where the key's slot is, and again until its node is there. Commands alone would have ioredis ask, and none is sent
 * while the client is not usable: one question without an answer would leave it so for good.
 */
function lookForNode(
  client: Cluster,
  isUsable: () => boolean,
  pauseOf: ConnectOptions["reconnectAfterMs"],
  onFound: () => void,
): () => void {
  let looking: NodeJS.Timeout | undefined;
  const lookIn = (ms: number, attempt: number): void => {
    looking ??= setTimeout(() => {
      looking = undefined;
      // A client that has lost all its nodes begins anew by itself.
      if (client.status !== "ready" || isUsable()) return;
      client.refreshSlotsCache(() => (isUsable() ? onFound() : lookIn(pauseOf(attempt), attempt + 1)));
    }, ms).unref();
  };
  return () => lookIn(LOOK_AGAIN_MS, 1);
}
