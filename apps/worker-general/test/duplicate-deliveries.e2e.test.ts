import { randomUUID } from "node:crypto";
import { describeDuplicateDeliveries, type ConsumerUnderTest } from "@toolctrl/consumer-testkit/duplicate-deliveries";
import { deliver } from "@toolctrl/consumer-testkit/installation";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, EVENTS, partOf, QUEUE_OF, type ConsumerName } from "./app.ts";

function of(name: ConsumerName, table: string): ConsumerUnderTest {
  return {
    name,
    queue: QUEUE_OF[name],
    app: () => partOf(name),
    consumers: consumersOf,
    publish: () => Promise.resolve(randomUUID()),
    async add(installation, eventId, generation) {
      await deliver(installation, EVENTS[name], { eventId, generation });
      return jobIdFor(eventId, generation);
    },
    table,
    async effects({ database }, eventId) {
      const { rowCount } = await database.pool.query(`SELECT 1 FROM "${table}" WHERE "eventId" = $1`, [eventId]);
      return rowCount ?? 0;
    },
  };
}

describeDuplicateDeliveries([of("notification-create", "Notification"), of("audit-append", "AuditEntry")]);
