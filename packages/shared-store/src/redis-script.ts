import { createHash } from "node:crypto";
import type { Cluster, Redis } from "ioredis";

/** A Lua script on one key, sent by its digest; in full when the server does not know it (first use, restart, SCRIPT FLUSH). */
export interface Script {
  run(redis: Redis | Cluster, key: string, args: readonly string[]): Promise<unknown>;
}

export function createScript(text: string): Script {
  const digest = createHash("sha1").update(text).digest("hex");
  return {
    async run(redis, key, args) {
      try {
        return await redis.evalsha(digest, 1, key, ...args);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        return redis.eval(text, 1, key, ...args);
      }
    },
  };
}
