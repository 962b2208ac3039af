import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { NewJob } from "@toolctrl/queue/port";
import { uuidv7 } from "uuidv7";

const QUEUE = "outbox.notification";

/** Jobs as the drainer adds them, of ten tenants. */
export function notificationJobs(count: number): NewJob[] {
  return Array.from({ length: count }, (_, index) => jobOf(index));
}

function jobOf(index: number): NewJob {
  const id = uuidv7();
  const data: JobEnvelope = {
    v: 1,
    outboxEventId: id,
    tenantId: `tenant-${index % 10}`,
    type: "notification.message.create",
    version: 1,
    position: String(index + 1),
    generation: 0,
    effectEpoch: 0,
    payload: { recipientId: `user-${index}`, title: `Invoice ${index} was paid`, body: `EUR 1,250.00 came in today. ${"x".repeat(150)}` },
    correlationId: null,
    causationId: null,
    depth: 0,
    traceparent: null,
    tracestate: null,
    createdAt: new Date().toISOString(),
  };
  return { queue: QUEUE, id: jobIdFor(id), name: data.type, data };
}
