import { startRedis } from "@toolctrl/testkit/redis-server";
import { expect, it, onTestFinished } from "vitest";
import { createQueueBackend, type QueueBackendOptions } from "../src/backend.ts";
import type { QueueBackend } from "../src/port.ts";
import { jobIdFor } from "../src/job-id.ts";
import { createTestLog } from "./support-log.ts";
import { withRedis } from "./support-redis.ts";

const QUEUE = "outbox.audit";

/** How often the server ran each command since it was last asked to count, but for those that every connection sends. */
async function commandsOf(options: QueueBackendOptions, run: () => Promise<unknown>): Promise<Record<string, number>> {
  await withRedis(options, (redis) => redis.config("RESETSTAT"));
  await run();
  const stats = await withRedis(options, (redis) => redis.info("commandstats"));
  const calls = [...stats.matchAll(/^cmdstat_(\w+)[^:]*:calls=(\d+)/gm)].map(([, name = "", n]) => [name, Number(n)] as const);
  return Object.fromEntries(calls.filter(([name]) => !["config", "info", "hello", "client", "select", "ping", "quit"].includes(name)));
}

async function openQueue(): Promise<{ options: QueueBackendOptions; backend: QueueBackend }> {
  const server = await startRedis();
  onTestFinished(() => server.close());
  const { log } = createTestLog();
  const options: QueueBackendOptions = { kind: "redis", redisUrl: server.url, prefix: "{live}", attempts: 1, backoffMs: 1, log };
  const backend = await createQueueBackend(options);
  onTestFinished(() => backend.close(500));
  return { options, backend };
}

it("asks for two fields of each job, and searches no list of what waits: that would stop the server beside a long queue", async () => {
  const { options, backend } = await openQueue();
  const ids = Array.from({ length: 300 }, (_, n) => jobIdFor(n));
  await backend.addAll(ids.slice(0, 200).map((id) => ({ queue: QUEUE, id, name: "t", data: {} })));
  let live: ReadonlySet<string> = new Set();
  const commands = await commandsOf(options, async () => (live = await backend.findLive(QUEUE, ids)));
  expect(live).toEqual(new Set(ids.slice(0, 200)));
  expect(commands).toEqual({ hmget: ids.length });
});

it("finds one job without searching what waits", async () => {
  const { options, backend } = await openQueue();
  const ids = Array.from({ length: 200 }, (_, n) => jobIdFor(n));
  await backend.addAll(ids.map((id) => ({ queue: QUEUE, id, name: "t", data: {} })));
  const commands = await commandsOf(options, async () =>
    expect(await backend.find(QUEUE, ids[150] ?? "")).toMatchObject({ state: "waiting" }),
  );
  // The one list that is searched is that of the jobs that run.
  expect(commands).toEqual({ hgetall: 1, multi: 1, exists: 1, lpos: 1, zscore: 4, exec: 1 });
});
