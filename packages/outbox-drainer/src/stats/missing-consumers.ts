import { CONSUMER_NAMES, CONSUMERS, type ConsumerName } from "@toolctrl/foundation/consumers";
import type { QueueName } from "@toolctrl/foundation/queues";
import type { LiveProcess } from "./list-live-processes.ts";

/** The consumers that have to work on a queue, and no live process runs. A process from before it could name its consumers runs those of its queues. */
export function missingConsumers(queue: QueueName, processes: readonly LiveProcess[]): ConsumerName[] {
  const servers = processes.filter((entry) => entry.queues.includes(queue));
  return CONSUMER_NAMES.filter(
    (name) => CONSUMERS[name] === queue && !servers.some(({ consumers }) => consumers === null || consumers.includes(name)),
  );
}
