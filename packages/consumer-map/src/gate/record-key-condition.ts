import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import type { Reason, StartCondition } from "@toolctrl/outbox-drainer/switch";
import { redFor } from "./answers.ts";

/** Every event of the live table has its record key, and the indexes that keep a record's events in order are whole. */
export function createRecordKeyCondition(db: Queryable): StartCondition {
  return { name: "record keys", check: async () => redFor(await findReasons(db)) };
}

async function findReasons(db: Queryable): Promise<Reason[]> {
  const { column, validated, indexes } = await recordKeyReady(db);
  if (!column)
    return [{ why: `expected the live "OutboxEvent" to have "recordKey", got no "recordKey"`, fix: "run `toolctrl-cli db migrate`" }];
  const unvalidated = {
    why: `expected every event to have its record key, got a constraint that is not validated`,
    fix: "run `toolctrl-cli outbox backfill-record-key`",
  };
  const noIndex = {
    why: `expected the indexes of record lines to be valid, got one that is missing or is not`,
    fix: "run `toolctrl-cli db migrate`",
  };
  return [...(validated ? [] : [unvalidated]), ...(indexes ? [] : [noIndex])];
}
