import { findFreePort } from "./free-port.ts";
import { askRedis } from "./ask-redis.ts";
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
  /** Whether each master has a replica, which takes its place when it dies. */
  replicas?: boolean;
  /** PEM files, for `localhost`: the nodes serve TLS too, each on one more port, and tell its clients of each other by that name. */
  tls?: { readonly certFile: string; readonly keyFile: string };
  log?: (line: string) => void;
}

export interface RedisCluster {
  /** Names every master, as `REDIS_URL` does; with `tls`, by the ports that serve it. */
  readonly url: string;
  /** The masters. Each can be stopped, killed and started alone; it finds its place in the cluster again. */
  readonly nodes: readonly RedisServer[];
  /** The replica of each master, in their order; none without `replicas`. */
  readonly replicas: readonly RedisServer[];
  /** The master that has a key's slot, and its replica. */
  ownerOf(key: string): Promise<{ readonly master: RedisServer; readonly replica: RedisServer | undefined }>;
  /** Waits until every node serves every slot. */
  untilServing(): Promise<void>;
  /** Stops all nodes in good order. */
  stop(): Promise<void>;
  /** Starts them again and waits until they serve. */
  start(): Promise<void>;
  /** Stops them for good and removes their files. */
  close(): Promise<void>;
}

const MASTERS = 3;
const SLOTS = 16_384;
/** How long a node may be silent before the others call it failed, ms: a busy machine must not make them. */
const NODE_TIMEOUT_MS = 2000;

/**
 * Starts a private Redis Cluster of three masters on loopback ports, from the machine's own `redis-server`. It takes about two seconds,
 * now and at each start: a master that begins serves nothing for so long.
 */
export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  await requireRedisServer(options.log);
  const count = options.replicas === true ? 2 * MASTERS : MASTERS;
  const started = await Promise.allSettled(Array.from({ length: count }, (_, index) => startNode(options, index)));
  const running = started.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
  const all = running.map(({ server }) => server);
  const [nodes, replicas] = [all.slice(0, MASTERS), all.slice(MASTERS)];
  const close = async (): Promise<void> => void (await Promise.all(all.map((node) => node.close())));
  const untilServing = async (): Promise<void> => void (await Promise.all(all.map(untilNodeServes)));
  try {
    const failed = started.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    await introduce(running);
    await untilServing();
    await Promise.all(replicas.map((replica, index) => follow(replica, nodes[index])));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    url: clusterUrlOf(
      running.slice(0, MASTERS).map(({ clientPort }) => clientPort),
      options.tls === undefined ? PLAIN : TLS,
    ),
    nodes,
    replicas,
    async ownerOf(key) {
      // The others answer with the address of the one that has it.
      const answers = await Promise.allSettled(nodes.map(({ url }) => askRedis(url, "EXISTS", key)));
      const index = answers.findIndex(({ status }) => status === "fulfilled");
      const master = nodes[index];
      if (master === undefined) throw new Error(`expected a master that has the slot of ${key}, got none`);
      return { master, replica: replicas[index] };
    },
    untilServing,
    stop: async () => void (await Promise.all(all.map((node) => node.stop()))),
    async start() {
      await Promise.all(all.map((node) => node.start()));
      await untilServing();
    },
    close,
  };
}

const PLAIN = { scheme: "redis+cluster", host: "127.0.0.1" };
const TLS = { scheme: "rediss+cluster", host: "localhost" };

/** The address of a cluster, which names all of its nodes. */
export function clusterUrlOf(ports: readonly number[], { scheme, host } = PLAIN): string {
  const [first, ...others] = ports.map((port) => `${host}:${port}`);
  return `${scheme}://${first}${others.map((node, index) => `${index === 0 ? "?" : "&"}node=${node}`).join("")}`;
}

interface Node {
  readonly server: RedisServer;
  readonly busPort: number;
  /** The one that clients are told of. */
  readonly clientPort: number;
}

/** The nodes' own port is by default theirs and 10,000, which may be above the last one. */
function startNode({ args = [], ports, announcedPorts, tls, log }: RedisClusterOptions, index: number): Promise<Node> {
  const announced = announcedPorts?.[index];
  return startOnSomePort(async (port) => {
    const busPort = await findFreePort();
    const tlsPort = tls === undefined ? undefined : await findFreePort();
    const cluster = ["--cluster-enabled", "yes", "--cluster-port", String(busPort), "--cluster-node-timeout", String(NODE_TIMEOUT_MS)];
    const replication = ["--repl-diskless-sync-delay", "0"];
    const told = ["--cluster-announce-ip", "127.0.0.1", ...(announced === undefined ? [] : ["--cluster-announce-port", String(announced)])];
    const server = await startRedis({
      port,
      args: [...cluster, ...replication, ...told, ...(tls === undefined ? [] : tlsArgs(tls, String(tlsPort))), ...args],
      ...(log === undefined ? {} : { log }),
    });
    return { server, busPort, clientPort: tlsPort ?? announced ?? port };
  }, ports?.[index]);
}

function tlsArgs({ certFile, keyFile }: NonNullable<RedisClusterOptions["tls"]>, port: string): string[] {
  const files = ["--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", certFile];
  const named = ["--cluster-announce-hostname", "localhost", "--cluster-preferred-endpoint-type", "hostname"];
  return ["--tls-port", port, "--tls-cluster", "yes", ...files, "--tls-auth-clients", "no", ...named];
}

/** Gives each master its part of the slots, and the first one everybody's address: it tells them of each other. */
async function introduce(nodes: readonly Node[]): Promise<void> {
  for (const [index, { server }] of nodes.slice(0, MASTERS).entries()) {
    const from = Math.floor((index * SLOTS) / MASTERS);
    const to = Math.floor(((index + 1) * SLOTS) / MASTERS) - 1;
    // Two masters of one epoch would have to agree on new ones first.
    await askRedis(server.url, "CLUSTER", "SET-CONFIG-EPOCH", String(index + 1));
    await askRedis(server.url, "CLUSTER", "ADDSLOTSRANGE", String(from), String(to));
  }
  const [first, ...others] = nodes;
  if (first === undefined) throw new Error("expected nodes, got none");
  for (const { server, busPort } of others) {
    await askRedis(first.server.url, "CLUSTER", "MEET", "127.0.0.1", String(server.port), String(busPort));
  }
}

/**
 * Makes a node the replica of a master, and waits until it acknowledges a write: "online" is told earlier, of a replica that has all that
 * there was, while the master still keeps back what comes after, and a master that is killed then takes it along.
 */
async function follow(replica: RedisServer, master: RedisServer | undefined): Promise<void> {
  if (master === undefined) throw new Error(`expected a master for the replica on port ${replica.port}, got none`);
  const id = String(await askRedis(master.url, "CLUSTER", "MYID"));
  await askRedis(replica.url, "CLUSTER", "REPLICATE", id);
  const isOnline = async (): Promise<boolean> => String(await askRedis(master.url, "INFO", "replication")).includes("state=online");
  await waitFor(isOnline, { timeoutMs: 30_000, what: `the replica on port ${replica.port} to be online` });
  // The one write that needs no key of the master's slots; there is nothing in it yet.
  await askRedis(master.url, "FLUSHALL");
  const follows = async (): Promise<boolean> => /state=online,offset=[1-9]/.test(String(await askRedis(master.url, "INFO", "replication")));
  await waitFor(follows, { timeoutMs: 30_000, what: `the replica on port ${replica.port} to follow its master` });
}

async function untilNodeServes({ url, port }: RedisServer): Promise<void> {
  const serves = async (): Promise<boolean> => {
    const told = String(await askRedis(url, "CLUSTER", "INFO"));
    return /^cluster_state:ok/m.test(told) && told.includes(`cluster_slots_ok:${SLOTS}`) && told.includes(`cluster_size:${MASTERS}`);
  };
  await waitFor(serves, { timeoutMs: 30_000, what: `the cluster's node on port ${port} to serve` });
}
