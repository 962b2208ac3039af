import { findPostgresBinaries, type PostgresBinaries } from "./postgres-binaries.ts";
import { initData, placeData } from "./postgres-data.ts";
import { postgresUser, type RunAs } from "./run-as.ts";
import { endServer, startAgain, startOnSomePort } from "./server-life.ts";
import { launchServer, type ServerProcess } from "./server-process.ts";
import { track } from "./tracked.ts";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

export interface PostgresOptions {
  /** Where the data live on after the server. Without it they are in a scratch directory, removed by `close()`. */
  dir?: string;
  /** A fixed port; without it a free one. */
  port?: number;
  /** Whether commits survive a loss of power; the default is "when `dir` is given". */
  durable?: boolean;
  /** More server settings, as in postgresql.conf. */
  settings?: Record<string, string>;
  log?: (line: string) => void;
}

export interface PostgresServer {
  /** The superuser's connection string; the database is `postgres`. */
  readonly url: string;
  readonly port: number;
  /** The process id of the running server; throws while it is stopped. */
  readonly pid: number;
  /** Where the files are. */
  readonly dir: string;
  /** Ends all sessions and stops the server; its data stay. */
  stop(): Promise<void>;
  /** Stops the server when it runs, and starts it on the same port with the same data: also after `stop()` and `kill()`. */
  restart(): Promise<void>;
  /** SIGKILL, as a crash would; its data stay. */
  kill(): Promise<void>;
  /** Stops the server for good, and removes the data unless `dir` was given. */
  close(): Promise<void>;
}

const THROWAWAY = { fsync: "off", full_page_writes: "off", wal_level: "minimal", max_wal_senders: "0", max_wal_size: "512MB" };
const COMMON = { listen_addresses: "127.0.0.1", unix_socket_directories: "", max_connections: "300", jit: "off" };

/** Starts a private PostgreSQL 18 from the npm registry on a loopback port, making its data directory first when there is none. */
export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  const durable = options.durable ?? options.dir !== undefined;
  const as = await postgresUser(options.dir === undefined ? "" : `${options.dir}/data`);
  const where = await placeData(options.dir, as, options.log);
  const removeDir = options.dir === undefined ? { removeDir: where.root } : {};
  const watchdog = startWatchdog({ signal: durable ? "INT" : "QUIT", ...removeDir });
  try {
    const binaries = await findPostgresBinaries(as, options.log === undefined ? {} : { log: options.log });
    const password = await initData(where, binaries, as, durable);
    const settings = { ...COMMON, ...(durable ? {} : THROWAWAY), ...options.settings };
    const start = (port: number): Promise<ServerProcess> =>
      launchPostgres({ binaries, data: where.data, port, as, settings, log: options.log });
    const { port, server } = await startOnSomePort(async (free) => ({ port: free, server: await start(free) }), options.port);
    return controlOf({ server, port, start, watchdog, durable, dir: where.root, password });
  } catch (error) {
    await watchdog.close();
    throw error;
  }
}

function launchPostgres(options: {
  binaries: PostgresBinaries;
  data: string;
  port: number;
  as: RunAs;
  settings: Record<string, string>;
  log: ((line: string) => void) | undefined;
}): Promise<ServerProcess> {
  const { binaries, data, port, as, settings, log } = options;
  const args = ["-D", data, "-p", String(port), ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`])];
  return launchServer({ command: binaries.postgres, args, cwd: data, as, ready: /ready to accept connections/, log });
}

function controlOf(parts: {
  server: ServerProcess;
  port: number;
  start: (port: number) => Promise<ServerProcess>;
  watchdog: Watchdog;
  durable: boolean;
  dir: string;
  password: string;
}): PostgresServer {
  const { port, start, watchdog, durable, dir, password } = parts;
  let server: ServerProcess | null = parts.server;
  watchdog.guard(server.pid);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (server === null) return;
    const ending = server;
    server = null;
    await endServer(ending, signal);
    watchdog.guard(0);
  };
  const close = async (): Promise<void> => {
    untrack();
    await end(durable ? "SIGINT" : "SIGQUIT");
    await watchdog.close();
  };
  const untrack = track(`the PostgreSQL server on port ${port}`, close);
  return {
    url: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`,
    port,
    dir,
    get pid() {
      if (server === null) throw new Error(`expected the PostgreSQL server on port ${port} to run, got it stopped`);
      return server.pid;
    },
    stop: () => end("SIGINT"),
    kill: () => end("SIGKILL"),
    close,
    async restart() {
      await end("SIGINT");
      server = await startAgain(start, port);
      watchdog.guard(server.pid);
    },
  };
}
