import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import { publishOutboxEvent } from "@toolctrl/db/outbox";

/** One effect that writes a row, and one that publishes; the second fails once by what its payload says. */
export const CRASH_EFFECTS: readonly AfterSaveEffect[] = [
  {
    name: "mark",
    on: ["record."],
    run: async (tx, event) =>
      void (await tx.$executeRawUnsafe(`INSERT INTO "Mark" ("eventId", "text") VALUES ($1::uuid, $2)`, event.id, `${event.position}`)),
  },
  {
    name: "notice",
    on: ["record."],
    async run(tx, event) {
      await publishOutboxEvent(tx, { tenantId: event.tenantId, type: "billing.lead.noticed", payload: { position: `${event.position}` } });
    },
  },
  {
    name: "failure",
    on: ["record.deal."],
    run: () => Promise.reject(new Error("deals fail")),
  },
];
