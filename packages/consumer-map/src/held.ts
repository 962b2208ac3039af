import type { HeldBy, Hold } from "@toolctrl/outbox-drainer/held";
import { CONSUMER_MAP, type ConsumerMapEntry } from "./map.ts";

/** Holds the routes of consumers that are out of scope: one such consumer holds the whole route, as its event would come to it too. */
export function createHeldBy(map: { readonly [name: string]: ConsumerMapEntry } = CONSUMER_MAP): HeldBy {
  const holds = new Map<string, Hold>();
  for (const [consumer, { prefixes, scope }] of Object.entries(map)) {
    if (scope.in) continue;
    const { reason, since } = scope;
    for (const prefix of prefixes) if (!holds.has(prefix)) holds.set(prefix, { consumer, reason, since });
  }
  return ({ prefix }) => holds.get(prefix) ?? null;
}
