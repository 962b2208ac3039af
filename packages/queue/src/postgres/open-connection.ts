import { PostgresConnection } from "bullmq";
import { Client, type ClientConfig } from "pg";
import type { ErrorReporter } from "../log.ts";
import { poolConfig, type PostgresTarget } from "./postgres-boot.ts";

/**
 * A BullMQ connection, of whose clients none can end this process. BullMQ listens to errors of its pool, which hears of clients that are
 * idle, and to those of the client that waits for jobs, once that is connected; between two statements of a transaction, and in the moment
 * in which a connection comes up, nobody listened: a server that shut down just then ended the worker.
 */
export function openConnection(
  target: PostgresTarget,
  limits: { max: number; timeoutMs: number },
  report: ErrorReporter,
): PostgresConnection {
  const connection = new PostgresConnection(poolConfig(target, limits.max, limits.timeoutMs));
  connection.on("error", report);
  connection.pool.on("connect", (client) => void client.on("error", report));
  const inner = connection as unknown as Partial<MakesClients>;
  if (inner.pgModule === undefined)
    throw new TypeError("expected BullMQ's connection to make its waiting client by its pgModule, got none");
  inner.pgModule = { ...inner.pgModule, Client: reportingClient(report) };
  return connection;
}

/** A field of BullMQ's own: there is no other way to the client that it makes for waiting. */
interface MakesClients {
  pgModule: { readonly Client: typeof Client };
}

function reportingClient(report: ErrorReporter): typeof Client {
  return class extends Client {
    constructor(config?: ClientConfig) {
      super(config);
      this.on("error", report);
    }
  };
}
