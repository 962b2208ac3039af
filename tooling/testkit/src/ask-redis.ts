import { Redis } from "ioredis";

/** Sends one command to the server of a URL, over a connection of its own that is not tried again. */
export async function askRedis(url: string, command: string, ...args: string[]): Promise<unknown> {
  const redis = new Redis(url, { retryStrategy: () => null, lazyConnect: true });
  // Told by the command that fails, too.
  redis.on("error", () => undefined);
  try {
    await redis.connect();
    return await redis.call(command, ...args);
  } finally {
    redis.disconnect();
  }
}
