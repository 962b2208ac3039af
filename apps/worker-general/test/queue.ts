import { createQueueBackend } from "@toolctrl/queue/backend";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createLogger } from "@toolctrl/runtime/logger";
import { onTestFinished } from "vitest";
import type { Rig } from "./rig.ts";

/** The installation's queue, for looking at it and for adding jobs beside the dispatcher; it works on nothing. */
export async function openQueue(rig: Rig): Promise<QueueBackend> {
  const backend = await createQueueBackend({
    kind: "redis",
    redisUrl: rig.env["REDIS_URL"],
    prefix: rig.env["QUEUE_PREFIX"] ?? "",
    attempts: 8,
    backoffMs: 10,
    log: createLogger({ app: "test", level: "silent" }),
  });
  onTestFinished(() => backend.close(500));
  return backend;
}
