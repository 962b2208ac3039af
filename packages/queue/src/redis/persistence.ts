import type { RedisClient } from "@toolctrl/redis/client";
import type { Redis } from "ioredis";
import type { Persistence } from "../port.ts";
import { askServer } from "./ask-server.ts";
import { everyMaster, worstOf } from "./every-master.ts";

/** Whether the server keeps an append-only file, of a cluster every master: CONFIG says `yes` or `no`, INFO says `1` or `0`. */
export async function readPersistence(client: RedisClient): Promise<Persistence> {
  return worstOf(await Promise.all(everyMaster(client).map(readOne)), ({ appendOnly }) => appendOnly !== true);
}

async function readOne(redis: Pick<Redis, "config" | "info">): Promise<Persistence> {
  const told = await askServer(redis, { parameter: "appendonly", section: "persistence", field: "aof_enabled" });
  return "value" in told ? { kind: "known", appendOnly: told.value === "yes" || told.value === "1" } : { kind: "unknown", ...told };
}
