import { findFreePort } from "@toolctrl/testkit/free-port";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import type { BenchServers } from "./servers.ts";

/** Processes of an app on the bench's servers, as an installation runs them. */
export interface WorkerProcesses {
  /** CPU that they have used so far, µs. */
  cpuMicros(): Promise<number>;
  close(): Promise<void>;
}

export type AppName = "worker-general" | "worker-mail";

export async function startWorkerProcesses(
  servers: BenchServers,
  { app, count, settings }: { readonly app: AppName; readonly count: number; readonly settings: Readonly<Record<string, string>> },
): Promise<WorkerProcesses> {
  const workers = await Promise.all(Array.from({ length: count }, () => startOne(servers, app, settings)));
  return {
    async cpuMicros() {
      const each = await Promise.all(workers.map(({ url }) => cpuOf(url)));
      return each.reduce((sum, micros) => sum + micros, 0);
    },
    async close() {
      for (const { child } of workers) child.kill("SIGTERM");
      await Promise.all(workers.map(({ child }) => child.waitForExit()));
    },
  };
}

async function startOne(
  servers: BenchServers,
  app: AppName,
  settings: Readonly<Record<string, string>>,
): Promise<{ child: ChildHandle; url: string }> {
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const env = {
    DATABASE_URL: servers.databaseUrl,
    QUEUE_BACKEND: "redis",
    REDIS_URL: servers.redisUrl,
    QUEUE_PREFIX: "{bench}",
    OUTBOX_PULL_WORKER: "false",
    HEALTH_PORT: String(port),
    LOG_LEVEL: "warn",
    ...settings,
  };
  // Nothing may import an app; it is started by its path.
  const child = spawnNode(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url), { env });
  const ready = async (): Promise<boolean> => (await fetch(`${url}/readyz`).catch(() => null))?.ok === true;
  await waitFor(ready, { what: "a worker to be ready", timeoutMs: 60_000 });
  return { child, url };
}

async function cpuOf(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const seconds = /^process_cpu_seconds_total(?:\{.*\})? (\S+)$/m.exec(text)?.[1];
  if (seconds === undefined) throw new Error("expected a worker to tell of its CPU, got nothing");
  return Number(seconds) * 1e6;
}
