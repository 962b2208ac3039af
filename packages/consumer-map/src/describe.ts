import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { ConsumerMapEntry, QueuesWithoutEvents } from "./entry.ts";
import { CONSUMER_MAP, QUEUES_WITHOUT_EVENTS } from "./map.ts";
import type { MapProof } from "./proof.ts";

/** An entry of the map with the state of its proof. */
export type DescribedConsumer = ConsumerMapEntry & {
  readonly name: ConsumerName;
  readonly proof: { readonly ranAt: string | null; readonly tests: number; readonly reasons: readonly string[] };
};

/** The map as a program reads it. */
export interface DescribedMap {
  readonly proven: boolean;
  readonly reasons: readonly string[];
  readonly consumers: readonly DescribedConsumer[];
  readonly queuesWithoutEvents: QueuesWithoutEvents;
}

const NEVER_RUN = { ranAt: null, tests: 0, reasons: [] };

/** The map and what of it is proven, as JSON. */
export function describeConsumerMap({ proven, reasons, proofs }: MapProof): DescribedMap {
  const consumers = Object.entries(CONSUMER_MAP).map(([name, entry]): DescribedConsumer => {
    const { ranAt, tests, reasons } = proofs.find((proof) => proof.name === name) ?? NEVER_RUN;
    return { ...entry, name: name as ConsumerName, proof: { ranAt, tests, reasons } };
  });
  return { proven, reasons, consumers, queuesWithoutEvents: QUEUES_WITHOUT_EVENTS };
}
