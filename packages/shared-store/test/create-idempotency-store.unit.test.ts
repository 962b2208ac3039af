import { describe, expect, it } from "vitest";
import { createIdempotencyStore, type IdempotencyStoreOptions } from "../src/create-idempotency-store.ts";
import { createRedisStore } from "../src/redis.ts";

describe("settings", () => {
  const untouched: IdempotencyStoreOptions["store"] = {
    kind: "redis",
    setIfAbsent: () => Promise.reject(new Error("not called")),
    get: () => Promise.reject(new Error("not called")),
    compareAndSet: () => Promise.reject(new Error("not called")),
    compareAndDelete: () => Promise.reject(new Error("not called")),
    ping: () => Promise.reject(new Error("not called")),
    close: () => Promise.resolve(),
  };
  const options: IdempotencyStoreOptions = { store: untouched, prefix: "outbox", ttlSeconds: 86_400, tenantId: "t", consumer: "c" };

  it.each([
    { tenantId: "" },
    { consumer: "" },
    { prefix: "" },
    { ttlSeconds: 30 },
    { ttlSeconds: Number.NaN },
    { claimTtlMs: 0 },
    { claimTtlMs: 1.5 },
    { effectEpoch: -1 },
  ])("refuse %j when the store is bound", (wrong) => {
    expect(() => createIdempotencyStore({ ...options, ...wrong })).toThrow(expect.objectContaining({ code: "STORE.ARGUMENT" }));
  });

  it.each([
    "redis://127.0.0.1:1/0?keyPrefix=mine:",
    "redis://127.0.0.1:1?enableOfflineQueue=true",
    "http://127.0.0.1:1",
    "127.0.0.1:1",
    "",
  ])("refuse the Redis URL %j: keys have one producer, bounds one place", (url) => {
    expect(() => createRedisStore({ url })).toThrow(expect.objectContaining({ code: "STORE.ARGUMENT" }));
  });

  it("says nothing of a refused URL, which may hold a password", () => {
    expect(() => createRedisStore({ url: "amqp://user:hunter2@host" })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
    );
  });
});
