import { startRedis } from "@toolctrl/testkit/redis-server";
import { expect, onTestFinished, test } from "vitest";
import { createQueueBackend } from "../src/backend.ts";
import type { QueueBackend } from "../src/port.ts";
import { createTestLog } from "./support-log.ts";
import { postgresHarness } from "./support-postgres.ts";

async function backendOn(redisUrl: string): Promise<QueueBackend> {
  const backend = await createQueueBackend({
    kind: "redis",
    redisUrl,
    prefix: "{eviction}",
    attempts: 1,
    backoffMs: 1,
    log: createTestLog().log,
  });
  onTestFinished(() => backend.close(1000));
  return backend;
}

test.each(["allkeys-lru", "noeviction"])("Redis tells its policy %s", async (policy) => {
  const server = await startRedis({ args: ["--maxmemory-policy", policy] });
  onTestFinished(() => server.close());
  expect(await (await backendOn(server.url)).evictionPolicy()).toEqual({ kind: "known", policy });
});

test("where CONFIG is forbidden INFO tells it; where both are, the policy is unknown and says why", async () => {
  const hosted = await startRedis({ args: ["--rename-command", "CONFIG", "", "--maxmemory-policy", "volatile-ttl"] });
  onTestFinished(() => hosted.close());
  expect(await (await backendOn(hosted.url)).evictionPolicy()).toEqual({ kind: "known", policy: "volatile-ttl" });
  const silent = await startRedis({ args: ["--user", "default", "on", "nopass", "~*", "&*", "+@all", "-config", "-info"] });
  onTestFinished(() => silent.close());
  expect(await (await backendOn(silent.url)).evictionPolicy()).toMatchObject({
    kind: "unknown",
    why: expect.stringMatching(/CONFIG GET: .+; INFO: .+/),
  });
});

test("a server that is away leaves the policy unknown", async () => {
  expect(await (await backendOn("redis://127.0.0.1:1")).evictionPolicy()).toMatchObject({ kind: "unknown" });
});

test("PostgreSQL evicts nothing", async () => {
  const backend = await createQueueBackend(await postgresHarness().namespace());
  onTestFinished(() => backend.close(1000));
  expect(await backend.evictionPolicy()).toEqual({ kind: "known", policy: null });
});
