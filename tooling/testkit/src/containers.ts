import { randomBytes } from "node:crypto";
import type { RedisServer } from "./redis-server.ts";
import { track } from "./tracked.ts";

const POSTGRES_IMAGE = "postgres:18-alpine";
const REDIS_IMAGE = "redis:7-alpine";

/** A throwaway PostgreSQL in a container. For machines whose Docker engine answers; testcontainers is loaded only then. */
export async function startPostgresContainer(): Promise<{ url: string; close(): Promise<void> }> {
  const { GenericContainer, Wait } = await import("testcontainers");
  const password = randomBytes(24).toString("hex");
  const container = await new GenericContainer(POSTGRES_IMAGE)
    .withEnvironment({ POSTGRES_PASSWORD: password })
    .withCommand(["postgres", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=300"])
    .withExposedPorts(5432)
    // The image starts the server twice: first to make the database.
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start();
  const url = `postgresql://postgres:${password}@${container.getHost()}:${container.getMappedPort(5432)}/postgres`;
  return { url, close: () => container.stop().then(() => undefined) };
}

/** A throwaway Redis in a container, on the given port of this machine. */
export async function startRedisContainer(port: number, args: string[]): Promise<RedisServer> {
  const { GenericContainer, Wait } = await import("testcontainers");
  const container = await new GenericContainer(REDIS_IMAGE)
    .withCommand(["redis-server", ...args])
    .withExposedPorts({ container: 6379, host: port })
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start();
  const close = async (): Promise<void> => {
    untrack();
    await container.stop();
  };
  const untrack = track(`the Redis container on port ${port}`, close);
  const halt = (timeoutMs: number): Promise<void> => container.stop({ remove: false, timeout: timeoutMs }).then(() => undefined);
  return {
    url: `redis://${container.getHost()}:${port}`,
    port,
    get pid(): number {
      throw new Error("expected a Redis process of this machine, got a container; use kill() and stop()");
    },
    stop: () => halt(10_000),
    kill: () => halt(0),
    start: () => container.restart(),
    close,
  };
}
