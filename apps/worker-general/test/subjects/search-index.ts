import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type HandedOff } from "@toolctrl/consumer-testkit/installation";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.search-index",
  type: "search.index.upsert",
  payload: { collection: "lead", recordId: "7", title: "Ann Smith", body: "wants a red bicycle", language: "english" },
};

/** An effect is a document that comes from the event. */
export const searchIndex: Subject = {
  name: "search-index",
  queue: EVENT.queue,
  app: () => partOf("search-index"),
  consumers: consumersOf,
  publish: () => Promise.resolve(randomUUID()),
  async add(installation, eventId, generation) {
    await deliver(installation, EVENT, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "SearchDocument",
  async effects({ database }, eventId) {
    return (await database.pool.query(`SELECT 1 FROM "SearchDocument" WHERE "eventId" = $1`, [eventId])).rowCount ?? 0;
  },
  removeProtection: (installation) => loseKey(installation, "SearchDocument", "recordId"),
};
