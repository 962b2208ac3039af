import { describeError } from "@toolctrl/foundation/errors";
import type { RedisClient } from "@toolctrl/redis/client";
import type { Redis } from "ioredis";
import type { ServerInfo } from "../port.ts";
import { everyMaster, worstOf } from "./every-master.ts";

/** What INFO tells of the server, of a cluster the fullest master. One that forbids it, or tells something else, is unknown: a hosted server may never answer. */
export async function readServerInfo(client: RedisClient): Promise<ServerInfo> {
  const told = await Promise.all(everyMaster(client).map(readOne));
  const fullest = Math.max(...told.map(fullnessOf));
  return worstOf(told, (info) => fullnessOf(info) === fullest);
}

function fullnessOf(info: ServerInfo): number {
  return info.kind === "known" && info.redis !== null ? info.redis.usedBytes / info.redis.maxBytes : 0;
}

async function readOne(redis: Pick<Redis, "info">): Promise<ServerInfo> {
  try {
    const told = `${await redis.info("server")}\n${await redis.info("memory")}`;
    const fieldOf = (name: string): string | undefined => new RegExp(`^${name}:(\\S+)`, "m").exec(told)?.[1];
    const version = fieldOf("redis_version");
    const usedBytes = Number(fieldOf("used_memory"));
    // Without a limit of its own it may take what the machine has.
    const maxBytes = Number(fieldOf("maxmemory")) || Number(fieldOf("total_system_memory"));
    if (version === undefined || !(usedBytes >= 0) || !(maxBytes > 0)) return { kind: "unknown", why: "INFO: no answer" };
    return { kind: "known", redis: { version, usedBytes, maxBytes } };
  } catch (error) {
    return { kind: "unknown", why: `INFO: ${describeError(error, 200)}` };
  }
}
