import type { Queryable } from "@toolctrl/db/sql";

/**
 * The sample product's own tables: a business row, what its plugin was told, and the ledger of intents. The ledger is what the effects are compared with; it is
 * written by the traffic generator alone, so that the product cannot vouch for itself.
 */
export async function createSampleSchema(db: Queryable): Promise<void> {
  await db.query(`
    CREATE SCHEMA IF NOT EXISTS sample;
    CREATE TABLE IF NOT EXISTS sample.subscription (
      id uuid PRIMARY KEY, "runId" uuid NOT NULL, "tenantId" text NOT NULL, plan text NOT NULL, status text NOT NULL
    );
    CREATE TABLE IF NOT EXISTS sample.intent (
      key uuid, kind text, "runId" uuid NOT NULL, "tenantId" text NOT NULL, expected integer NOT NULL, PRIMARY KEY (key, kind)
    );
    CREATE TABLE IF NOT EXISTS sample.plugin_note (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "tenantId" text NOT NULL, key uuid NOT NULL);
    CREATE INDEX IF NOT EXISTS intent_run ON sample.intent ("runId")`);
}
