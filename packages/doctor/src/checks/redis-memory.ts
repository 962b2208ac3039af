import type { QueueBackend } from "@toolctrl/queue/port";
import { fail, ok, unknown, warn, type Check, type Finding } from "../check.ts";

const MIB = 1024 * 1024;

/** There is room for more jobs: a Redis that is full and evicts nothing refuses every add. */
export function createRedisMemoryCheck(backend: Pick<QueueBackend, "serverInfo">): Check {
  return { name: "queue memory", look: () => lookAt(backend) };
}

async function lookAt(backend: Pick<QueueBackend, "serverInfo">): Promise<Finding> {
  const told = await backend.serverInfo();
  if (told.kind === "unknown")
    return unknown(`the memory of Redis is unknown (${told.why})`, "make sure that it has room for the jobs that wait");
  if (told.redis === null) return ok("the queue lies in PostgreSQL");
  const { usedBytes, maxBytes } = told.redis;
  const said = `${Math.ceil(usedBytes / MIB)} MiB of ${Math.floor(maxBytes / MIB)} MiB in use`;
  const fix = "raise maxmemory, or find the queue that grows (`toolctrl-cli outbox stats`)";
  if (usedBytes > 0.95 * maxBytes) return fail(`expected Redis to have room, got ${said}`, fix);
  if (usedBytes > 0.8 * maxBytes) return warn(`expected Redis to have a fifth of its memory left, got ${said}`, fix);
  return ok(said);
}
