import { once } from "node:events";
import { CodedError } from "@toolctrl/foundation/errors";
import { readRedisUrl } from "@toolctrl/foundation/redis-url";
import { connectRedis, type Following, type KnownAddress, type RedisClient, type RedisConnection } from "@toolctrl/redis/client";
import { probeKey } from "./keys.ts";
import type { KeyValueStore, StoreLog } from "./key-value.ts";
import { createScript, type Script } from "./redis-script.ts";
import { storeUnavailable } from "./store-unavailable.ts";

export interface RedisStoreOptions {
  /** `redis://` or `rediss://` without options in its query, as they would undo the bounds below; or `redis+cluster://`. */
  readonly url: string;
  /** First part of the keys that will be used: of a cluster's nodes the one that keeps them counts. */
  readonly prefix?: string;
  readonly log?: StoreLog;
  /** Bound of one command, ms; default 2,000. */
  readonly commandTimeoutMs?: number;
  /** Bound of connecting, and of a command's wait for the connection, ms; default 2,000. */
  readonly connectTimeoutMs?: number;
}

/** A lost reply is asked for again, within the bound of a command. */
const FOLLOWING: Following = { redirections: 8, retryMs: 100 };

/** Every script touches one key, so the same code serves a cluster. A script's own value counts as written: its first reply may be lost. */
const COMPARE_AND_SET = `
local held = redis.call("GET", KEYS[1])
if held == ARGV[1] or held == ARGV[2] then
  redis.call("SET", KEYS[1], ARGV[2], "PX", ARGV[3])
  return 1
end
return 0`;
const COMPARE_AND_DELETE = `
if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end
return 0`;
const GET_WITH_TTL = `
local held = redis.call("GET", KEYS[1])
if not held then return nil end
return { held, redis.call("PTTL", KEYS[1]) }`;

/**
 * The Redis form of the key-value port, on a connection of its own. A command waits for the connection no longer than one attempt to
 * connect, and nothing is queued for later: what a caller has given up must not be written afterwards.
 *
 * A lost reply makes ioredis send the command again; each of them then recognises its own value.
 * @throws CodedError `STORE.ARGUMENT` for a URL that is not Redis's, or that carries options (`keyPrefix` among them).
 */
export function createRedisStore(options: RedisStoreOptions): KeyValueStore {
  const { url, prefix, log, commandTimeoutMs = 2_000, connectTimeoutMs = 2_000 } = options;
  const probedKey = probeKey(prefix);
  const connection = connect(addressOf(url), { key: probedKey, commandTimeoutMs, connectTimeoutMs });
  const redis = connection.client;
  const whenUsable = createReadiness(connection, connectTimeoutMs);
  reportErrors(redis, log);
  const compareAndSet = createScript(COMPARE_AND_SET);
  const compareAndDelete = createScript(COMPARE_AND_DELETE);
  const getWithTtl = createScript(GET_WITH_TTL);

  async function run<T>(operation: string, command: () => Promise<T>): Promise<T> {
    try {
      if (!connection.isUsable()) await whenUsable();
      return await command();
    } catch (error) {
      throw storeUnavailable("redis", operation, error);
    }
  }
  const runScript = (operation: string, script: Script, key: string, ...args: string[]) =>
    run(operation, () => script.run(redis, key, args));

  return {
    kind: "redis",
    setIfAbsent: (key, value, ttlMs) =>
      run("SET NX", async () => {
        if ((await redis.set(key, value, "PX", wholeMs(ttlMs), "NX")) === "OK") return true;
        return (await redis.get(key)) === value;
      }),
    async get(key) {
      const reply = await runScript("GET", getWithTtl, key);
      return Array.isArray(reply) ? { value: String(reply[0]), ttlMs: Math.max(0, Number(reply[1])) } : null;
    },
    async compareAndSet(key, expected, value, ttlMs) {
      return (await runScript("compare-and-set", compareAndSet, key, expected, value, String(wholeMs(ttlMs)))) === 1;
    },
    async compareAndDelete(key, expected) {
      return (await runScript("compare-and-delete", compareAndDelete, key, expected)) === 1;
    },
    // A write, so that a replica and a full server show.
    ping: () => run("a probing SET", async () => void (await redis.set(probedKey, "1", "PX", 1_000))),
    close: () => closeRedis(redis, log),
  };
}

function addressOf(url: string): KnownAddress {
  const address = readRedisUrl(url);
  if (address.kind === "wrong" && !address.keyPrefix) throw new CodedError("STORE.ARGUMENT", address.problem);
  const names = address.kind === "cluster" ? [] : [...new URL(url).searchParams.keys()];
  if (address.kind !== "wrong" && names.length === 0) return address;
  throw new CodedError(
    "STORE.ARGUMENT",
    `expected a Redis URL without options, got ${names.join(", ")}; keys have one producer and bounds one place`,
    { facts: { options: names } },
  );
}

function connect(
  address: KnownAddress,
  {
    key,
    commandTimeoutMs,
    connectTimeoutMs,
  }: { readonly key: string; readonly commandTimeoutMs: number; readonly connectTimeoutMs: number },
): RedisConnection {
  return connectRedis(address, {
    connection: {
      connectTimeout: connectTimeoutMs,
      commandTimeout: commandTimeoutMs,
      // A silent connection is given up in time for its command to be sent again over another one.
      socketTimeout: commandTimeoutMs / 2,
      maxRetriesPerRequest: 1,
    },
    reconnectAfterMs: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1_000),
    waits: false,
    key,
    following: FOLLOWING,
  });
}

/** Waits for the connection, once for all callers: until it can be used, the next attempt fails, or the bound. */
function createReadiness({ client, usableEvent }: RedisConnection, boundMs: number): () => Promise<void> {
  let waiting: Promise<void> | undefined;
  return async () => {
    if (client.status === "end") throw new Error("the store is closed");
    waiting ??= once(client, usableEvent, { signal: AbortSignal.timeout(boundMs) })
      .then(() => undefined)
      .finally(() => {
        waiting = undefined;
      });
    await waiting;
  };
}

/** Says each new fault once, not once per attempt to reconnect. */
function reportErrors(redis: RedisClient, log: StoreLog | undefined): void {
  let reported = "";
  const report = (error: Error): void => {
    if (error.message !== reported) log?.warn({ err: error, store: "redis" }, "the store's connection failed; it is tried again");
    reported = error.message;
  };
  redis.on("error", report);
  redis.on("node error", report);
  redis.on("ready", () => {
    reported = "";
  });
}

async function closeRedis(redis: RedisClient, log: StoreLog | undefined): Promise<void> {
  if (redis.status === "end") return;
  if (redis.status !== "ready") return redis.disconnect();
  try {
    await redis.quit();
  } catch (error) {
    log?.warn({ err: error, store: "redis" }, "closing the store's connection in order failed; it is cut");
    redis.disconnect();
  }
}

function wholeMs(ttlMs: number): number {
  return Math.max(1, Math.round(ttlMs));
}
