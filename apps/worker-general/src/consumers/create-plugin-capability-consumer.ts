import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { countCapabilityUse } from "@toolctrl/domain/plugins";
import { CodedError } from "@toolctrl/foundation/errors";
import { pluginCapabilityUseSchema } from "@toolctrl/foundation/events";
import { listSchemaProblems } from "@toolctrl/foundation/schema-problems";
import { causedBy } from "../caused-by.ts";

const NAME = "plugin-capability-count";

/** Counts what plugins use of the product's capabilities, by the month of the event; the receipt is in the counter's transaction. */
export function createPluginCapabilityConsumer(deps: { pool: Database["pool"] }): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.plugin-capability-use",
    concurrency: 10,
    async handle(delivery) {
      const { tenantId, envelope } = delivery;
      const use = pluginCapabilityUseSchema.safeParse(delivery.payload);
      if (!use.success) {
        const paths = listSchemaProblems(use.error).map(({ path }) => path);
        throw new CodedError("RECEIVER.PAYLOAD", `expected the use of a capability, got another payload at ${paths.join(", ")}`, {
          facts: { paths },
        });
      }
      const event = causedBy(delivery);
      return databaseEffect(deps.pool, NAME, delivery, async (_tx, outbox) => {
        await countCapabilityUse(outbox, { tenantId, ...use.data, usedAt: envelope.createdAt, event });
      });
    },
  };
}
