import type { KeyValueStore } from "@toolctrl/shared-store/key-value";
import type { Installation } from "../installation.ts";
import type { AnySubject } from "../subject.ts";
import { deliverInSequence } from "./deliver-in-sequence.ts";
import type { Ground } from "./ground.ts";
import type { Outcome } from "./outcome.ts";

/** Delivers an event twice where nothing keeps a subject from a second effect: no claim is ever found, no receipt, nor whatever else guards it. */
export async function deliverUnprotected(ground: Ground, subject: AnySubject): Promise<Outcome> {
  const installation = await ground.openAlone({ wrapStore: forgetful });
  await forgetReceipts(installation);
  await subject.removeProtection?.(installation);
  return deliverInSequence(installation, subject, { forgotten: false });
}

/** Every claim is granted, nothing is ever found. */
function forgetful(store: KeyValueStore): KeyValueStore {
  return {
    kind: store.kind,
    setIfAbsent: () => Promise.resolve(true),
    get: () => Promise.resolve(null),
    compareAndSet: () => Promise.resolve(true),
    compareAndDelete: () => Promise.resolve(true),
    ping: () => store.ping(),
    close: () => store.close(),
  };
}

/** A receipt is there until its transaction commits, and gone then. */
async function forgetReceipts({ database }: Installation): Promise<void> {
  await database.pool.query(`
    CREATE FUNCTION "forgetReceipt"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM "OutboxReceipt" WHERE "eventId" = NEW."eventId" AND "consumer" = NEW."consumer" AND "effectEpoch" = NEW."effectEpoch";
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER "forgetReceipt" AFTER INSERT OR UPDATE ON "OutboxReceipt"
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION "forgetReceipt"()`);
}
