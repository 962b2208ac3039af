import type { Metrics } from "../src/metrics.ts";

export function checkTypes(metrics: Metrics): void {
  metrics.add("outbox_claims_total", 1);
  metrics.add("queue_dead_total", 1, { queue: "outbox.mail" });
  // @ts-expect-error a label that is declared cannot be left out
  metrics.add("queue_dead_total", 1);
  // @ts-expect-error a label that is not declared cannot be given
  metrics.add("queue_dead_total", 1, { queue: "outbox.mail", tenantId: "t1" });
  // @ts-expect-error a counter cannot be set
  metrics.set("outbox_claims_total", 1);
  // @ts-expect-error an undeclared metric does not exist
  metrics.add("outbox_whatever_total", 1);
}
