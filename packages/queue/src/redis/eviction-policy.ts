import { describeError } from "@toolctrl/foundation/errors";
import type { Redis } from "ioredis";
import type { EvictionPolicy } from "../port.ts";

/**
 * What the server drops when its memory is full. A hosted Redis often forbids CONFIG, and INFO tells the same; where both are forbidden
 * nobody can know, which is an answer and no failure.
 */
export async function readEvictionPolicy(redis: Pick<Redis, "config" | "info">): Promise<EvictionPolicy> {
  const asked = await answerOf(async () => (await redis.config("GET", "maxmemory-policy"))[1]);
  if (asked.policy !== undefined) return { kind: "known", policy: asked.policy };
  const told = await answerOf(async () => /^maxmemory_policy:(\S+)/m.exec(await redis.info("memory"))?.[1]);
  if (told.policy !== undefined) return { kind: "known", policy: told.policy };
  return { kind: "unknown", why: `CONFIG GET: ${asked.why}; INFO: ${told.why}` };
}

async function answerOf(ask: () => Promise<string | undefined>): Promise<{ policy: string | undefined; why: string }> {
  try {
    const policy = await ask();
    return { policy, why: "no answer" };
  } catch (error) {
    return { policy: undefined, why: describeError(error, 200) };
  }
}
