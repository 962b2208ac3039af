import type { OutboxStatus } from "./event-filter.ts";
import type { SplitConsumers } from "./split-consumers.ts";

/** What an operator's action did to one event. */
export type EventOutcome =
  | ({
      readonly id: string;
      readonly outcome: "requeued";
      readonly from: OutboxStatus;
      readonly eventType: string;
      readonly generation: number;
      readonly effectEpoch: number;
      readonly replayConsumer: string | null;
      readonly scheduledAt: Date;
    } & SplitConsumers)
  | { readonly id: string; readonly outcome: "cancelled" | "skipped"; readonly from: OutboxStatus; readonly eventType: string }
  | { readonly id: string; readonly outcome: "refused"; readonly status: OutboxStatus; readonly eventType: string; readonly why: string }
  | { readonly id: string; readonly outcome: "not-found" };

/** One action over a batch. `actionId` is null when none of the events exists: there was nothing to act on. */
export interface ActionReport {
  readonly actionId: string | null;
  /** In the order of the ids asked for, each id once. */
  readonly events: readonly EventOutcome[];
}
