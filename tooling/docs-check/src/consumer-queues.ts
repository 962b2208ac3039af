import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { QUEUE_NAMES, type QueueName } from "@toolctrl/foundation/queues";

/** The queues that a consumer of some app serves: all that the map has, but those of consumers without code. */
export function listServedQueues(): Set<QueueName> {
  const served = Object.values(CONSUMER_MAP).flatMap(({ queue, source }) => (source === null ? [] : [queue as string]));
  return new Set(QUEUE_NAMES.filter((queue) => served.includes(queue)));
}
