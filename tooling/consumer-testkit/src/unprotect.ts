import type { Installation } from "./installation.ts";

/**
 * Makes a natural key useless: every row that is inserted into the table gets another value in one of its columns, so that no row is
 * taken for the one before it.
 */
export async function loseKey({ database }: Installation, table: string, column: string): Promise<void> {
  const name = `lose${table}${column}`;
  await database.pool.query(`
    CREATE SEQUENCE "${name}";
    CREATE FUNCTION "${name}"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN NEW."${column}" := nextval('"${name}"'); RETURN NEW; END $$;
    CREATE TRIGGER "${name}" BEFORE INSERT ON "${table}" FOR EACH ROW EXECUTE FUNCTION "${name}"()`);
}

/**
 * Makes a consumer forget what its calls came to: when its receipt is written, the event's intents are pending again, and `alsoSql` runs
 * (with the receipt as NEW).
 */
export async function forgetIntents({ database }: Installation, consumer: string, alsoSql = ""): Promise<void> {
  await database.pool.query(`
    CREATE FUNCTION "forgetIntents"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE "OutboxIntent" SET "state" = 'pending', "sentAt" = NULL, "token" = NULL, "sendingSince" = NULL, "attempts" = 0, "unknowns" = 0
      WHERE "eventId" = NEW."eventId" AND "consumer" = NEW."consumer";
      ${alsoSql}
      RETURN NULL;
    END $$;
    CREATE TRIGGER "forgetIntents" AFTER INSERT ON "OutboxReceipt" FOR EACH ROW WHEN (NEW."consumer" = '${consumer}')
    EXECUTE FUNCTION "forgetIntents"()`);
}
