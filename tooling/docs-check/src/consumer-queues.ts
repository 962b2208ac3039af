import { QUEUE_NAMES, type QueueName } from "@toolctrl/foundation/queues";
import { listFiles, readText } from "./repository.ts";

/** The queues that a consumer of some app serves: a source that makes a `Consumer` names its queue. */
export function listServedQueues(): Set<QueueName> {
  const sources = listFiles("apps/*/src/**/*.ts").map(readText);
  const makers = sources.filter((text) => /\): Consumer \{/.test(text));
  const named = makers.flatMap((text) => [...text.matchAll(/^\s+queue: "([^"]+)",$/gm)].map(([, queue]) => queue));
  return new Set(QUEUE_NAMES.filter((queue) => named.includes(queue)));
}
