import { CodedError } from "@toolctrl/foundation/errors";
import { Redis, type RedisOptions } from "ioredis";
import { unreachableError } from "../classify-error.ts";
import type { ErrorReporter } from "../log.ts";

const RECONNECT_MAX_MS = 1000;
const REFUSED_RECONNECT_MS = 250;
/** One listener or more for each queue and each waiting add. Not 0: BullMQ adds to this number and takes from it. */
const MAX_LISTENERS = 10_000;
/** Above the longest block of a worker's read (10 s), so that only a silent connection is given up. */
const WORKER_SOCKET_TIMEOUT_MS = 15_000;

const COMMON = {
  connectTimeout: 5000,
  keepAlive: 10_000,
  retryStrategy: (attempt: number) => Math.min(RECONNECT_MAX_MS, 25 * 2 ** Math.min(attempt, 6)) + Math.floor(Math.random() * 50),
} satisfies RedisOptions;

/**
 * A connection that answers or fails: nothing is queued while it is down, nothing is sent twice, and a silent one is given up.
 * For producers, probes and the CLI.
 */
export function createFailFastClient(url: string, timeoutMs: number, report: ErrorReporter, lazyConnect = false): Redis {
  const client = new Redis(url, {
    ...COMMON,
    reconnectOnError: leaveDemotedNode(),
    connectTimeout: Math.min(timeoutMs, 5000),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A timer per connection instead of ioredis's one per command, which costs a bulk add 3 %. Each request has a deadline besides;
    // this one ends before it, so that the reason is known by then.
    socketTimeout: Math.max(50, timeoutMs - Math.min(500, timeoutMs / 4)),
    lazyConnect,
  });
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
export function createWorkerClient(url: string, report: ErrorReporter): Redis {
  return guard(
    new Redis(url, {
      ...COMMON,
      reconnectOnError: leaveDemotedNode(),
      maxRetriesPerRequest: null,
      socketTimeout: WORKER_SOCKET_TIMEOUT_MS,
    }),
    report,
  );
}

function guard(client: Redis, report: ErrorReporter): Redis {
  client.on("error", report);
  client.setMaxListeners(MAX_LISTENERS);
  return client;
}

/**
 * BullMQ's scripts name keys that a client's key prefix would not reach.
 * @throws CodedError `QUEUE.PREFIX`, `QUEUE.SETTING`
 */
export function assertRedisUrl(url: string | undefined): asserts url is string {
  const parsed = url === undefined ? null : URL.parse(url);
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol)) {
    throw new CodedError("QUEUE.SETTING", "expected a Redis URL redis://host:port, got none or another", { facts: { name: "redisUrl" } });
  }
  if (parsed.searchParams.has("keyPrefix")) {
    throw new CodedError("QUEUE.PREFIX", "expected a Redis URL without keyPrefix, got one with it", { facts: { name: "redisUrl" } });
  }
}

/** Waits at most `ms` until the client can send. @throws CodedError `QUEUE.UNREACHABLE` */
export function untilReady(client: Redis, ms: number): Promise<void> {
  if (client.status === "ready") return Promise.resolve();
  if (client.status === "wait") client.connect().catch(() => undefined); // told to the error listener as well
  return new Promise((resolve, reject) => {
    const onReady = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(
      () => {
        client.off("ready", onReady);
        reject(unreachableError(`a connection in state "${client.status}" after ${Math.round(ms)} ms`));
      },
      Math.max(0, ms),
    );
    client.once("ready", onReady);
  });
}

/** Says goodbye where that is possible within `ms`, else hangs up. */
export async function endClient(client: Redis, ms: number): Promise<void> {
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
