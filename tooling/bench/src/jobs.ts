import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { QueueName } from "@toolctrl/foundation/queues";
import { jobIdFor } from "@toolctrl/queue/job-id";
import type { NewJob } from "@toolctrl/queue/port";
import { uuidv7 } from "uuidv7";

/** Jobs as the drainer adds them, of ten tenants. */
export function notificationJobs(count: number): NewJob[] {
  return jobsOf(count, "outbox.notification", "notification.message.create", (index) => ({
    recipientId: `user-${index}`,
    title: `Invoice ${index} was paid`,
    body: `EUR 1,250.00 came in today. ${"x".repeat(150)}`,
  }));
}

/** Mails, each to somebody else. */
export function mailJobs(count: number): NewJob[] {
  return jobsOf(count, "outbox.mail", "mail.message.send", (index) => ({
    to: `user-${index}@example.com`,
    subject: `Invoice ${index} was paid`,
    text: `EUR 1,250.00 came in today. ${"x".repeat(150)}`,
  }));
}

function jobsOf(count: number, queue: QueueName, type: string, payloadOf: (index: number) => JsonObject): NewJob[] {
  return Array.from({ length: count }, (_, index) => {
    const id = uuidv7();
    const data: JobEnvelope = {
      v: 1,
      outboxEventId: id,
      tenantId: `tenant-${index % 10}`,
      type,
      version: 1,
      position: String(index + 1),
      generation: 0,
      effectEpoch: 0,
      payload: payloadOf(index),
      correlationId: null,
      causationId: null,
      depth: 0,
      traceparent: null,
      tracestate: null,
      createdAt: new Date().toISOString(),
    };
    return { queue, id: jobIdFor(id), name: type, data };
  });
}
