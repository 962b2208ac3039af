import { startRedis, type RedisServer } from "@toolctrl/testkit/redis-server";
import { expect, onTestFinished, test } from "vitest";
import { createQueueBackend } from "../src/backend.ts";
import type { Persistence } from "../src/port.ts";
import { createTestLog } from "./support-log.ts";
import { postgresHarness } from "./support-postgres.ts";

async function persistenceOf(redisUrl: string): Promise<Persistence> {
  const options = { kind: "redis", redisUrl, prefix: "{persistence}", attempts: 1, backoffMs: 1, log: createTestLog().log } as const;
  const backend = await createQueueBackend(options);
  onTestFinished(() => backend.close(1000));
  return backend.persistence();
}

async function redisWith(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  onTestFinished(() => server.close());
  return server;
}

/** What the user that everybody is may do. */
const allowing = (...rules: string[]): string[] => ["--user", "default", "on", "nopass", "~*", "&*", "+@all", ...rules];

test.each([
  ["yes", true],
  ["no", false],
] as const)("Redis with appendonly %s says so", async (appendonly, appendOnly) => {
  const { url } = await redisWith("--appendonly", appendonly);
  expect(await persistenceOf(url)).toEqual({ kind: "known", appendOnly });
});

test.each([
  ["CONFIG is forbidden", ["--appendonly", "yes", ...allowing("-config")], true],
  ["CONFIG is forbidden", ["--appendonly", "no", ...allowing("-config")], false],
  ["CONFIG has another name", ["--appendonly", "yes", "--rename-command", "CONFIG", "host-config"], true],
] as const)("where %s INFO tells it (%j)", async (_why, args, appendOnly) => {
  const { url } = await redisWith(...args);
  expect(await persistenceOf(url)).toEqual({ kind: "known", appendOnly });
});

test("where CONFIG and INFO are forbidden it is unknown and says why; so it is where the server is away", async () => {
  const { url } = await redisWith("--appendonly", "yes", ...allowing("-config", "-info"));
  expect(await persistenceOf(url)).toEqual({ kind: "unknown", why: expect.stringMatching(/CONFIG GET: .*NOPERM.*; INFO: .*NOPERM/i) });
  expect(await persistenceOf("redis://127.0.0.1:1")).toEqual({ kind: "unknown", why: expect.stringContaining("connection") });
});

test("a queue in PostgreSQL needs no such file", async () => {
  const backend = await createQueueBackend(await postgresHarness().namespace());
  onTestFinished(() => backend.close(1000));
  expect(await backend.persistence()).toEqual({ kind: "known", appendOnly: null });
});
