import { describe, expect, it } from "vitest";
import { createQueueBackend, type QueueBackendOptions } from "./backend.ts";
import type { QueueLog } from "./log.ts";

const none = (): void => undefined;
const log = { debug: none, info: none, warn: none, error: none } as QueueLog;
const good: QueueBackendOptions = { kind: "redis", redisUrl: "redis://127.0.0.1:1", prefix: "{t}", attempts: 3, backoffMs: 100, log };

describe("createQueueBackend", () => {
  it.each([
    ["a prefix without a hash tag", { prefix: "toolctrl" }, "QUEUE.PREFIX"],
    ["a key prefix in the Redis URL", { redisUrl: "redis://127.0.0.1:1?keyPrefix=x" }, "QUEUE.PREFIX"],
    ["no Redis URL", { redisUrl: undefined }, "QUEUE.SETTING"],
    ["a Redis URL of another kind", { redisUrl: "http://127.0.0.1:1" }, "QUEUE.SETTING"],
    ["no database URL", { kind: "postgres" }, "QUEUE.SETTING"],
    ["a database URL of another kind", { kind: "postgres", databaseUrl: "mysql://127.0.0.1:1/x" }, "QUEUE.SETTING"],
    ["no attempts", { attempts: 0 }, "QUEUE.SETTING"],
    ["a negative backoff", { backoffMs: -1 }, "QUEUE.SETTING"],
    ["a time-out that is no number", { addTimeoutMs: Number.NaN }, "QUEUE.SETTING"],
    ["a retention without an age", { keep: { completed: { ageSeconds: 0, count: 1 } } }, "QUEUE.SETTING"],
  ] as [string, Partial<QueueBackendOptions>, string][])("refuses %s", async (_what, change, code) => {
    await expect(createQueueBackend({ ...good, ...change })).rejects.toMatchObject({ code });
  });
});
