import type { Redis } from "ioredis";
import type { EvictionPolicy } from "../port.ts";
import { askServer } from "./ask-server.ts";

/** What the server drops when its memory is full. */
export async function readEvictionPolicy(redis: Pick<Redis, "config" | "info">): Promise<EvictionPolicy> {
  const told = await askServer(redis, { parameter: "maxmemory-policy", section: "memory", field: "maxmemory_policy" });
  return "value" in told ? { kind: "known", policy: told.value } : { kind: "unknown", ...told };
}
