import { randomUUID } from "node:crypto";
import type { ConsumerUnderTest } from "@toolctrl/consumer-testkit/duplicate-deliveries";
import { deliver, type HandedOff, type Installation } from "@toolctrl/consumer-testkit/installation";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const EVENT: HandedOff = {
  queue: "outbox.search-index",
  type: "search.index.upsert",
  payload: { collection: "lead", recordId: "7", title: "Ann Smith", body: "wants a red bicycle", language: "english" },
};

/** An effect is a document that comes from the event. */
export const searchIndex: ConsumerUnderTest & { removeProtection(installation: Installation): Promise<void> } = {
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
  /** Without its natural key a record has a document more with each delivery. */
  async removeProtection({ database }) {
    await database.pool.query(
      `CREATE FUNCTION "loseKey"() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN NEW."recordId" := NEW."recordId" || gen_random_uuid(); RETURN NEW; END $$;
       CREATE TRIGGER "loseKey" BEFORE INSERT ON "SearchDocument" FOR EACH ROW EXECUTE FUNCTION "loseKey"()`,
    );
  },
};
