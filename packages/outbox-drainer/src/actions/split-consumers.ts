import type { Router } from "@toolctrl/event-router/router";
import type { DoneReceipt } from "./list-done-receipts.ts";

/** Which consumers of an event's route will run when it is sent out again, and which have a receipt and stay suppressed. */
export interface SplitConsumers {
  readonly suppressed: readonly string[];
  readonly willRun: readonly string[];
  /** False when this version has no routing rule for it: what will run is unknown, and a worker of this version fails it. */
  readonly routable: boolean;
}

/** `event` as it will be when it is delivered; receipts of other events are ignored. */
export function splitConsumers(
  router: Router,
  event: { id: string; eventType: string; effectEpoch: number; replayConsumer: string | null },
  receipts: readonly DoneReceipt[],
): SplitConsumers {
  const own = receipts.filter((receipt) => receipt.eventId === event.id);
  // A consumer that is replayed is held back by its receipt of this very epoch only.
  const isSuppressed = (consumer: string): boolean =>
    own.some(
      (receipt) => receipt.consumer === consumer && (consumer !== event.replayConsumer || receipt.effectEpoch === event.effectEpoch),
    );
  const route = router(event.eventType);
  const consumers = route?.consumers ?? [];
  return {
    suppressed: consumers.filter(isSuppressed),
    willRun: consumers.filter((consumer) => !isSuppressed(consumer)),
    routable: route !== null,
  };
}
