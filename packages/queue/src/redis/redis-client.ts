import { CodedError } from "@toolctrl/foundation/errors";
import { readRedisUrl } from "@toolctrl/foundation/redis-url";
import { connectRedis, type Following, type KnownAddress, type RedisConnection } from "@toolctrl/redis/client";
import type { RedisOptions } from "ioredis";
import { unreachableError } from "../classify-error.ts";
import type { ErrorReporter } from "../log.ts";

const RECONNECT_MAX_MS = 1000;
/** One listener or more for each queue and each waiting add. Not 0: BullMQ adds to this number and takes from it. */
const MAX_LISTENERS = 10_000;
/** Above the longest block of a worker's read (10 s), so that only a silent connection is given up. */
const WORKER_SOCKET_TIMEOUT_MS = 15_000;

const COMMON = { connectTimeout: 5000, keepAlive: 10_000 } satisfies RedisOptions;

function pausesUpTo(maxMs: number): (attempt: number) => number {
  return (attempt) => Math.min(maxMs, 25 * 2 ** Math.min(attempt, 6)) + Math.floor(Math.random() * 50);
}

/** To the slot's node, and to the one that has just taken it over. */
const FAIL_FAST: Following = { redirections: 3, retryMs: 0 };
/** A command that waits is tried again for 16 s while the cluster has no node for its slot. */
const WAIT: Following = { redirections: 64, retryMs: 250 };

export interface QueueClientOptions {
  /** Of all keys of the queues. */
  readonly prefix: string;
  readonly report: ErrorReporter;
}

/**
 * A connection that answers or fails: nothing is queued while it is down, nothing is sent twice, and a silent one is given up.
 * For producers, probes and the CLI.
 */
export function createFailFastClient(
  address: KnownAddress,
  { prefix, report, timeoutMs, lazyConnect = false }: QueueClientOptions & { readonly timeoutMs: number; readonly lazyConnect?: boolean },
): RedisConnection {
  const connection = {
    ...COMMON,
    connectTimeout: Math.min(timeoutMs, 5000),
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A timer per connection instead of ioredis's one per command, which costs a bulk add 3 %. Each request has a deadline besides;
    // this one ends before it, so that the reason is known by then.
    socketTimeout: Math.max(50, timeoutMs - Math.min(500, timeoutMs / 4)),
  } satisfies RedisOptions;
  const client = {
    connection,
    // A request that begins in a pause has time for the attempt after it.
    reconnectAfterMs: pausesUpTo(Math.min(RECONNECT_MAX_MS, timeoutMs / 4)),
    waits: false,
    key: prefix,
    following: FAIL_FAST,
    lazyConnect,
  };
  return guard(connectRedis(address, client), report);
}

/** A worker's connection: waits through an outage and goes on. BullMQ copies it for the read that blocks. */
export function createWorkerClient(address: KnownAddress, { prefix, report }: QueueClientOptions): RedisConnection {
  const connection = {
    ...COMMON,
    maxRetriesPerRequest: null,
    socketTimeout: WORKER_SOCKET_TIMEOUT_MS,
  } satisfies RedisOptions;
  const client = {
    connection,
    reconnectAfterMs: pausesUpTo(RECONNECT_MAX_MS),
    waits: true,
    key: prefix,
    following: WAIT,
  };
  return guard(connectRedis(address, client), report);
}

function guard(connection: RedisConnection, report: ErrorReporter): RedisConnection {
  connection.client.on("error", report);
  connection.client.on("node error", report);
  connection.client.setMaxListeners(MAX_LISTENERS);
  return connection;
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

/** Waits at most `ms` until the client can send. @throws CodedError `QUEUE.UNREACHABLE` */
export function untilUsable({ client, usableEvent, isUsable }: RedisConnection, ms: number): Promise<void> {
  if (isUsable()) return Promise.resolve();
  if (client.status === "wait") client.connect().catch(() => undefined); // told to the error listener as well
  return new Promise((resolve, reject) => {
    const onUsable = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(
      () => {
        client.off(usableEvent, onUsable);
        reject(unreachableError(`a connection in state "${client.status}" after ${Math.round(ms)} ms`));
      },
      Math.max(0, ms),
    );
    client.once(usableEvent, onUsable);
  });
}

/** Says goodbye where that is possible within `ms`, else hangs up. */
export async function endClient({ client }: RedisConnection, ms: number): Promise<void> {
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
