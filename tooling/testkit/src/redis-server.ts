import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startRedisContainer } from "./containers.ts";
import { dockerAnswers } from "./docker.ts";
import { endServer, startAgain, startOnSomePort } from "./server-life.ts";
import { findRedisServer, requireRedisServer } from "./redis-binary.ts";
import { launchServer, type ServerProcess } from "./server-process.ts";
import { track } from "./tracked.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

export { findRedisServer } from "./redis-binary.ts";

export interface RedisOptions {
  /** More arguments of `redis-server`, e.g. `["--appendonly", "yes"]`; they win over the defaults. */
  args?: string[];
  /** A fixed port; without it a free one. */
  port?: number;
  /** Where its files live on after the server; without it they are removed by `close()`. */
  dir?: string;
  log?: (line: string) => void;
}

export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** The process id of the running server; throws while it is stopped. */
  readonly pid: number;
  /** Stops it in good order. Its data are gone unless `args` make it persistent. */
  stop(): Promise<void>;
  /** Starts it again on the same port, after `stop()` or `kill()`. */
  start(): Promise<void>;
  /** SIGKILL, as a crash would. */
  kill(): Promise<void>;
  /** Stops it for good and removes its files unless `dir` was given. */
  close(): Promise<void>;
}

const DEFAULTS = ["--save", "", "--appendonly", "no", "--maxmemory-policy", "noeviction"];

/**
 * Starts a private Redis on a loopback port, for a test that stops it or fills it; tests that do neither share the run's server
 * through `createRedisNamespace`. Throws an error with the command to type when the machine has no way to run one.
 */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  const args = [...DEFAULTS, ...(options.args ?? [])];
  if ((await findRedisServer()) === null && (await dockerAnswers())) {
    return startOnSomePort((port) => startRedisContainer(port, args), options.port);
  }
  const command = await requireRedisServer(options.log);
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "toolctrl-redis-")));
  await mkdir(dir, { recursive: true });
  const watchdog = startWatchdog({ signal: "TERM", ...(options.dir === undefined ? { removeDir: dir } : {}) });
  const launch = (port: number): Promise<ServerProcess> =>
    launchServer({
      command,
      args: ["--port", String(port), "--bind", "127.0.0.1", "--daemonize", "no", "--dir", dir, ...args],
      cwd: dir,
      ready: /Ready to accept connections/,
      log: options.log,
    });
  try {
    const started = await startOnSomePort(async (port) => ({ port, server: await launch(port) }), options.port);
    return controlOf(started, launch, watchdog);
  } catch (error) {
    await watchdog.close();
    throw error;
  }
}

/**
 * The run's shared Redis and a prefix nobody else uses. The prefix is hash-tagged, as in production, so that all its keys share a slot.
 * Throws when the run has no Redis.
 */
export function createRedisNamespace(): { url: string; prefix: string } {
  const url = process.env.TESTKIT_REDIS_URL;
  if (url === undefined) throw new Error("expected TESTKIT_REDIS_URL from the global setup, got nothing; run the test through vitest");
  return { url, prefix: `{t-${randomBytes(6).toString("hex")}}` };
}

function controlOf(
  started: { port: number; server: ServerProcess },
  launch: (port: number) => Promise<ServerProcess>,
  watchdog: Watchdog,
): RedisServer {
  const { port } = started;
  let server: ServerProcess | null = started.server;
  watchdog.guard(started.server.pid);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server === null) return;
    const ending = server;
    server = null;
    await endServer(ending, signal);
    watchdog.guard(0);
  };
  const close = async (): Promise<void> => {
    untrack();
    await end("SIGKILL");
    await watchdog.close();
  };
  const untrack = track(`the Redis server on port ${port}`, close);
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      if (server === null) throw new Error(`expected the Redis server on port ${port} to run, got it stopped`);
      return server.pid;
    },
    stop: () => end("SIGTERM"),
    kill: () => end("SIGKILL"),
    async start() {
      if (server !== null) return;
      server = await startAgain(launch, port);
      watchdog.guard(server.pid);
    },
    close,
  };
}
