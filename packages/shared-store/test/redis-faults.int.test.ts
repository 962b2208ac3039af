import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { once } from "node:events";
import { randomUUID } from "node:crypto";
import { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { waitFor } from "@toolctrl/testkit/wait";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createIdempotencyStore } from "../src/create-idempotency-store.ts";
import type { KeyValueStore } from "../src/key-value.ts";
import { createRedisStore } from "../src/redis.ts";
import { createReceiptLedger } from "../src/testing-idempotency.ts";

const BINDING = { prefix: "{faults}", ttlSeconds: 3600, tenantId: "t", consumer: "c" };
const UNAVAILABLE = { code: "STORE.UNAVAILABLE", retry: true };

let server: RedisServer;
let admin: Redis;
let store: KeyValueStore;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
  admin.on("error", () => undefined);
});
afterAll(async () => {
  admin.disconnect();
  await server.close();
});
beforeEach(() => {
  store = createRedisStore({ url: server.url });
});
afterEach(() => store.close());

const deliver = (handler: () => Promise<string>) =>
  withOutboxIdempotency(createIdempotencyStore({ ...BINDING, store }), randomUUID(), handler);

describe("a Redis that refuses writes", () => {
  const refusals = {
    "read-only, after a failover": {
      begin: () => admin.call("REPLICAOF", "127.0.0.1", "1"),
      end: () => admin.call("REPLICAOF", "NO", "ONE"),
      says: /READONLY/,
    },
    "out of memory": {
      begin: () => admin.config("SET", "maxmemory", "1"),
      end: () => admin.config("SET", "maxmemory", "0"),
      says: /OOM/,
    },
  };
  it.each(Object.entries(refusals))(
    "(%s) means try again: the handler never runs unclaimed, and it works again after",
    async (_, refusal) => {
      let runs = 0;
      const handler = async (): Promise<string> => `run ${(runs += 1)}`;
      expect(await deliver(handler)).toBe("run 1");
      await refusal.begin();
      try {
        await expect(deliver(handler)).rejects.toMatchObject({ ...UNAVAILABLE, message: expect.stringMatching(refusal.says) });
        await waitFor(async () => (await store.ping().then(() => "writes", String)).match(refusal.says), { what: "readiness to turn red" });
        expect(runs).toBe(1);
      } finally {
        await refusal.end();
      }
      expect(await waitFor(() => deliver(handler), { what: "a delivery after recovery" })).toBe("run 2");
      await store.ping();
    },
  );
});

describe("a Redis that is away", () => {
  it("refuses within its bound when it was never up, and serves once it is", async () => {
    const other = await startRedis();
    await other.stop();
    const early = createRedisStore({ url: other.url });
    try {
      await expect(early.setIfAbsent("k", "v", 1_000)).rejects.toMatchObject(UNAVAILABLE);
      await expect(early.ping()).rejects.toMatchObject(UNAVAILABLE);
      await other.start();
      expect(await waitFor(() => early.setIfAbsent("k", "v", 60_000), { what: "the store to recover" })).toBe(true);
    } finally {
      await early.close();
      await other.close();
    }
  });

  it("refuses within its bound when it accepts and says nothing, and closes all the same", async () => {
    const silent = createServer((socket) => void socket.resume().on("error", () => undefined));
    const mute = createRedisStore({ url: await listen(silent), commandTimeoutMs: 100, connectTimeoutMs: 100 });
    await expect(mute.setIfAbsent("k", "v", 1_000)).rejects.toMatchObject(UNAVAILABLE);
    await mute.close();
    await expect(mute.get("k")).rejects.toMatchObject(UNAVAILABLE);
    silent.close();
  });

  it("refuses every operation after close", async () => {
    await store.setIfAbsent("k", "v", 1_000);
    await store.close();
    await store.close();
    await expect(store.get("k")).rejects.toMatchObject(UNAVAILABLE);
  });
});

describe("a Redis that dies while the handler runs", () => {
  it("leaves the handler's own error unchanged and reports the failed release", async () => {
    const failure = new Error("the peer refused");
    const warned: string[] = [];
    const run = withOutboxIdempotency(
      createIdempotencyStore({ ...BINDING, store }),
      randomUUID(),
      async () => {
        await server.kill();
        throw failure;
      },
      { log: { warn: (_facts, message) => void warned.push(message) } },
    );
    await expect(run).rejects.toBe(failure);
    expect(warned).toEqual(["giving up a claim failed; it runs out by itself"]);
    await server.start();
  });

  it("reports a failed release as a warning of the process when there is no logger", async () => {
    const warning = once(process, "warning");
    const failure = new Error("the peer refused");
    const run = deliver(async () => {
      await server.kill();
      throw failure;
    });
    await expect(run).rejects.toBe(failure);
    expect((await warning)[0]).toMatchObject({ name: "OutboxReceiverWarning", code: "STORE.UNAVAILABLE" });
    await server.start();
  });

  it("does not fail a finished handler, and the receipt stops the next delivery", async () => {
    const ledger = createReceiptLedger();
    const bound = createIdempotencyStore({ ...BINDING, store, receipts: ledger });
    const eventId = randomUUID();
    const options = { log: { warn: () => undefined } };
    const first = await withOutboxIdempotency(bound, eventId, async () => (await server.kill(), "first"), options);
    expect(first).toBe("first");
    await server.start();
    const second = await waitFor(() => withOutboxIdempotency(bound, eventId, async () => "second", options), { what: "the next delivery" });
    expect(second).toBe("first");
  });

  it("aborts the signal once the claim cannot be shown to be ours for its whole life", async () => {
    const bound = createIdempotencyStore({ ...BINDING, store, claimTtlMs: 600 });
    const run = withOutboxIdempotency(
      bound,
      randomUUID(),
      async ({ signal }) => {
        await server.kill();
        if (!signal.aborted) await once(signal, "abort");
        signal.throwIfAborted();
      },
      { log: { warn: () => undefined } },
    );
    await expect(run).rejects.toMatchObject({ code: "RECEIVER.CLAIM_LOST", cause: UNAVAILABLE });
    await server.start();
  });
});

describe("a reply that is lost", () => {
  it("neither loses a claim nor a result: the command is sent again and recognises its own value", async () => {
    const proxy = await startReplySwallower(server.port);
    const lossy = createRedisStore({ url: proxy.url });
    const bound = createIdempotencyStore({ ...BINDING, store: lossy });
    const eventId = randomUUID();
    try {
      // The server must know the script, or the lost reply would be its "no such script".
      await lossy.compareAndSet("{faults}:warm", "a", "b", 1_000);
      proxy.swallowNextReply();
      const result = await withOutboxIdempotency(bound, eventId, async () => {
        proxy.swallowNextReply();
        return "first";
      });
      expect(result).toBe("first");
      expect(proxy.swallowed()).toBe(2);
      expect(await withOutboxIdempotency(bound, eventId, async () => "second")).toBe("first");
    } finally {
      await lossy.close();
      proxy.close();
    }
  });
});

/** A TCP proxy that, when told to, lets the next command through, drops its reply and cuts the connection. */
async function startReplySwallower(toPort: number) {
  let armed = false;
  let swallowed = 0;
  const proxy = createServer((client) => {
    const upstream = connect(toPort, "127.0.0.1");
    client.pipe(upstream).on("error", () => client.destroy());
    client.on("error", () => upstream.destroy()).on("close", () => upstream.destroy());
    upstream.on("data", (reply) => {
      if (armed) {
        armed = false;
        swallowed += 1;
        client.destroy();
      } else {
        client.write(reply);
      }
    });
  });
  const url = await listen(proxy);
  return { url, swallowNextReply: () => void (armed = true), swallowed: () => swallowed, close: () => proxy.close() };
}

async function listen(tcp: Server): Promise<string> {
  await once(tcp.listen(0, "127.0.0.1"), "listening");
  return `redis://127.0.0.1:${(tcp.address() as AddressInfo).port}`;
}
