import type { RedisClient } from "@toolctrl/redis/client";
import type { Redis } from "ioredis";
import type { EvictionPolicy } from "../port.ts";
import { askServer } from "./ask-server.ts";
import { everyMaster, worstOf } from "./every-master.ts";

/** What the server drops when its memory is full; of a cluster, the master that drops something. */
export async function readEvictionPolicy(client: RedisClient): Promise<EvictionPolicy> {
  return worstOf(await Promise.all(everyMaster(client).map(readOne)), ({ policy }) => policy !== "noeviction");
}

async function readOne(redis: Pick<Redis, "config" | "info">): Promise<EvictionPolicy> {
  const told = await askServer(redis, { parameter: "maxmemory-policy", section: "memory", field: "maxmemory_policy" });
  return "value" in told ? { kind: "known", policy: told.value } : { kind: "unknown", ...told };
}
