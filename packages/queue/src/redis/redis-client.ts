import { CodedError } from "@toolctrl/foundation/errors";
import { readRedisUrl, type RedisAddress } from "@toolctrl/foundation/redis-url";
import { Redis, type Cluster, type RedisOptions } from "ioredis";
import { unreachableError } from "../classify-error.ts";
import type { ErrorReporter } from "../log.ts";
import { connectCluster, isClusterReady, NODE_READY } from "./cluster-client.ts";

/** A client of one server, or of a cluster. */
export type RedisClient = Redis | Cluster;
/** Where a client connects to. */
export type KnownAddress = Exclude<RedisAddress, { kind: "wrong" }>;

const RECONNECT_MAX_MS = 1000;
const REFUSED_RECONNECT_MS = 250;
/** One listener or more for each queue and each waiting add. Not 0: BullMQ adds to this number and takes from it. */
const MAX_LISTENERS = 10_000;
/** Above the longest block of a worker's read (10 s), so that only a silent connection is given up. */
const WORKER_SOCKET_TIMEOUT_MS = 15_000;

const COMMON = { connectTimeout: 5000, keepAlive: 10_000 } satisfies RedisOptions;

function reconnectAfterMs(attempt: number): number {
  return Math.min(RECONNECT_MAX_MS, 25 * 2 ** Math.min(attempt, 6)) + Math.floor(Math.random() * 50);
}

/**
 * A connection that answers or fails: nothing is queued while it is down, nothing is sent twice, and a silent one is given up.
 * For producers, probes and the CLI.
 */
export function createFailFastClient(address: KnownAddress, timeoutMs: number, report: ErrorReporter, lazyConnect = false): RedisClient {
  const options = {
    ...COMMON,
    reconnectOnError: leaveDemotedNode(),
    connectTimeout: Math.min(timeoutMs, 5000),
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A timer per connection instead of ioredis's one per command, which costs a bulk add 3 %. Each request has a deadline besides;
    // this one ends before it, so that the reason is known by then.
    socketTimeout: Math.max(50, timeoutMs - Math.min(500, timeoutMs / 4)),
  } satisfies RedisOptions;
  const client =
    address.kind === "cluster"
      ? connectCluster(address, { redisOptions: options, reconnectAfterMs, waits: false, lazyConnect })
      : new Redis(address.url, { ...options, retryStrategy: reconnectAfterMs, enableOfflineQueue: false, lazyConnect });
  return guard(client, report);
}

/**
 * A demoted node keeps the connection and refuses every write; a new connection may lead to the new primary.
 * Asked for each refused command of a pipeline, and each "yes" hangs up once more: so only now and then.
 */
function leaveDemotedNode(): (error: Error) => boolean {
  let leftAt = -REFUSED_RECONNECT_MS;
  return (error) => {
    if (!error.message.includes("READONLY") || performance.now() - leftAt < REFUSED_RECONNECT_MS) return false;
    leftAt = performance.now();
    return true;
  };
}

/** A worker's connection: waits through an outage and goes on. BullMQ copies it for the read that blocks. */
export function createWorkerClient(address: KnownAddress, report: ErrorReporter): RedisClient {
  const options = {
    ...COMMON,
    reconnectOnError: leaveDemotedNode(),
    maxRetriesPerRequest: null,
    socketTimeout: WORKER_SOCKET_TIMEOUT_MS,
  } satisfies RedisOptions;
  const client =
    address.kind === "cluster"
      ? connectCluster(address, { redisOptions: options, reconnectAfterMs, waits: true, lazyConnect: false })
      : new Redis(address.url, { ...options, retryStrategy: reconnectAfterMs });
  return guard(client, report);
}

function guard<Client extends RedisClient>(client: Client, report: ErrorReporter): Client {
  client.on("error", report);
  // A cluster's client tells of one node alone by another name.
  client.on("node error", report);
  client.setMaxListeners(MAX_LISTENERS);
  return client;
}

/**
 * Where the URL leads. BullMQ's scripts name keys that a client's key prefix would not reach.
 * @throws CodedError `QUEUE.PREFIX`, `QUEUE.SETTING`
 */
export function redisAddressOf(url: string | undefined): KnownAddress {
  const address = url === undefined ? null : readRedisUrl(url);
  if (address !== null && address.kind !== "wrong") return address;
  const problem = address?.problem ?? "expected the URL of a Redis, got none";
  throw new CodedError(address?.keyPrefix === true ? "QUEUE.PREFIX" : "QUEUE.SETTING", problem, { facts: { name: "redisUrl" } });
}

/** Whether the client can send now; says nothing about the next moment. */
export function isReady(client: RedisClient): boolean {
  return "nodes" in client ? isClusterReady(client) : client.status === "ready";
}

/** Waits at most `ms` until the client can send. @throws CodedError `QUEUE.UNREACHABLE` */
export function untilReady(client: RedisClient, ms: number): Promise<void> {
  if (isReady(client)) return Promise.resolve();
  if (client.status === "wait") client.connect().catch(() => undefined); // told to the error listener as well
  return new Promise((resolve, reject) => {
    const events = ["ready", NODE_READY, "-node"];
    const settle = (end: () => void): void => {
      clearTimeout(timer);
      for (const event of events) client.off(event, onChange);
      end();
    };
    const onChange = (): void => {
      if (isReady(client)) settle(resolve);
    };
    const timer = setTimeout(
      () => settle(() => reject(unreachableError(`a connection in state "${client.status}" after ${Math.round(ms)} ms`))),
      Math.max(0, ms),
    );
    for (const event of events) client.on(event, onChange);
  });
}

/** Runs something whenever the client can send again: a cluster's also when it has one node's connection back. */
export function onEachReady(client: RedisClient, run: () => void): void {
  for (const event of ["ready", NODE_READY]) client.on(event, () => void (isReady(client) && run()));
}

/** Says goodbye where that is possible within `ms`, else hangs up. */
export async function endClient(client: RedisClient, ms: number): Promise<void> {
  if (client.status === "ready") {
    let timer: NodeJS.Timeout | undefined;
    const bound = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
    await Promise.race([
      client.quit().then(
        () => undefined,
        () => undefined,
      ),
      bound,
    ]);
    clearTimeout(timer);
  }
  client.disconnect();
}
