import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { isProbe } from "@toolctrl/foundation/envelope";
import type { QueueBackend } from "@toolctrl/queue/port";
import { hookPayload } from "../plugins/hook-payload.ts";
import { fanOut, unfinishedHooks } from "../plugins/fan-out.ts";
import { PLUGIN_FANOUT } from "../plugins/invocation.ts";
import { addInvokeJobs, addProbeJob } from "../plugins/invoke-job.ts";

export interface PluginFanoutDeps {
  readonly pool: Database["pool"];
  readonly backend: Pick<QueueBackend, "addAll">;
}

/**
 * Writes down which subscriptions an event is for, with this consumer's receipt, then adds one job for each. A crash between the two is mended by
 * the next delivery: it finds the receipt, and adds again the jobs of those that are not settled, or dead.
 */
export function createPluginFanoutConsumer(deps: PluginFanoutDeps): NamedConsumer<typeof PLUGIN_FANOUT> {
  return {
    name: PLUGIN_FANOUT,
    queue: "outbox.plugin-hook",
    concurrency: 10,
    async handle(delivery) {
      hookPayload(delivery.payload);
      const outcome = await databaseEffect(deps.pool, PLUGIN_FANOUT, delivery, (tx) => fanOut(tx, delivery));
      if (outcome.kind === "done") await handOn(delivery, deps);
      return outcome;
    },
    passOn: (delivery) => (isProbe(delivery.envelope) ? addProbeJob(deps.backend, delivery.envelope) : handOn(delivery, deps)),
  };
}

async function handOn(delivery: Delivery, deps: PluginFanoutDeps): Promise<void> {
  await addInvokeJobs(deps.backend, delivery.envelope, await unfinishedHooks(deps.pool, delivery));
}
