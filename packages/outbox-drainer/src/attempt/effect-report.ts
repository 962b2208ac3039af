import type { Metrics } from "@toolctrl/runtime/metrics";

export interface EffectReport {
  /** Runs an effect and keeps in mind how long it took and whether its receipt was there already. */
  watch(consumer: string, run: () => Promise<{ readonly duplicate: boolean }>): Promise<void>;
  /** Counts what was watched, once it is known whether it stands. */
  end(outcome: "done" | "retry" | "snooze" | "cancel"): void;
}

/** Counts after-save effects as the consumers that they are; of a transaction that was rolled back none has ended in "done". */
export function createEffectReport(metrics: Metrics): EffectReport {
  const watched: Array<{ consumer: string; duplicate: boolean }> = [];
  return {
    async watch(consumer, run) {
      const startedAt = performance.now();
      const entry = { consumer, duplicate: false };
      watched.push(entry);
      try {
        entry.duplicate = (await run()).duplicate;
      } finally {
        metrics.observe("outbox_consumer_seconds", (performance.now() - startedAt) / 1000, { consumer });
      }
    },
    end(outcome) {
      for (const { consumer, duplicate } of watched) {
        const suppressed = duplicate && outcome === "done";
        metrics.add("outbox_consumer_deliveries_total", 1, { consumer, outcome: suppressed ? "duplicate" : outcome });
        if (suppressed) metrics.add("outbox_duplicates_suppressed_total", 1, { consumer });
      }
    },
  };
}
