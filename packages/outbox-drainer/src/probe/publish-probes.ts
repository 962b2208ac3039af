import { transaction, type Database } from "@toolctrl/db/client";
import { outboxTransactionOf, publishOutboxEvents } from "@toolctrl/db/outbox";
import type { RouteRule } from "@toolctrl/event-router/router";
import { PROBE_TENANT, probeTypeOf } from "@toolctrl/foundation/envelope";
import { uuidv7 } from "uuidv7";

/** The probe event of a route. */
export interface PublishedProbe {
  readonly eventId: string;
  readonly route: RouteRule;
}

/**
 * Publishes a probe for each route, in one commit, as a product would. Consumers take a probe as any event, and do not run their handlers for it
 * (foundation's `isProbe`); its payload fits none of them, so that a worker from before there were probes refuses it.
 * @returns them with the id that they have in common, their correlation.
 */
export async function publishProbes(
  pool: Database["pool"],
  routes: readonly RouteRule[],
  by: string,
): Promise<{ readonly probeId: string; readonly probes: readonly PublishedProbe[] }> {
  const probeId = uuidv7();
  const events = routes.map(({ prefix }) => ({
    tenantId: PROBE_TENANT,
    type: probeTypeOf(prefix),
    payload: { probe: probeId, by },
    correlationId: probeId,
  }));
  const published = await transaction(pool, (tx) => publishOutboxEvents(outboxTransactionOf(tx), events));
  const probes = routes.flatMap((route, index) => {
    const eventId = published[index]?.id;
    return eventId === undefined ? [] : [{ eventId, route }];
  });
  return { probeId, probes };
}
