import type { Queryable } from "@toolctrl/db/sql";
import { uuidv7 } from "uuidv7";
import { INTENT_COLUMNS, type Intent, type IntentKey } from "./intent.ts";

/** Writes the intent `pending` unless it is there. */
export async function insertIntent(db: Queryable, key: IntentKey, externalId: string): Promise<void> {
  await insertIntents(db, key, [key.target], externalId);
}

/**
 * Writes one `pending` intent per target, in one statement; those that are there stay as they are. `externalId` is one for all of them, or
 * each target's own.
 */
export async function insertIntents(
  db: Queryable,
  key: Omit<IntentKey, "target">,
  targets: readonly string[],
  externalId: string | ((target: string) => string),
): Promise<void> {
  if (targets.length === 0) return;
  const externalIds = targets.map((target) => (typeof externalId === "string" ? externalId : externalId(target)));
  await db.query(
    `INSERT INTO "OutboxIntent" ("id", "eventId", "tenantId", "consumer", "target", "effectEpoch", "externalId")
     SELECT intent."id", $4, $5, $6, intent."target", $7, intent."externalId"
       FROM unnest($1::uuid[], $2::text[], $3::text[]) AS intent("id", "target", "externalId")
     ON CONFLICT ("eventId", "consumer", "target", "effectEpoch") DO NOTHING`,
    [targets.map(() => uuidv7()), [...targets], externalIds, key.eventId, key.tenantId, key.consumer, key.effectEpoch],
  );
}

/** The intents of an event's consumer and epoch, by target. */
export async function listIntents(db: Queryable, key: Omit<IntentKey, "target">): Promise<Intent[]> {
  const { rows } = await db.query<Intent>(
    `SELECT ${INTENT_COLUMNS} FROM "OutboxIntent" WHERE "eventId" = $1 AND "consumer" = $2 AND "effectEpoch" = $3 AND "tenantId" = $4 ORDER BY "target"`,
    [key.eventId, key.consumer, key.effectEpoch, key.tenantId],
  );
  return rows;
}

/** One intent, or null when it is not there. */
export async function findIntent(db: Queryable, key: IntentKey): Promise<Intent | null> {
  const { rows } = await db.query<Intent>(
    `SELECT ${INTENT_COLUMNS} FROM "OutboxIntent"
     WHERE "eventId" = $1 AND "consumer" = $2 AND "target" = $3 AND "effectEpoch" = $4 AND "tenantId" = $5`,
    [key.eventId, key.consumer, key.target, key.effectEpoch, key.tenantId],
  );
  return rows[0] ?? null;
}
