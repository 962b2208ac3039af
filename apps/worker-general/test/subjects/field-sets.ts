import type { AfterSaveSubject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import type { Installation } from "@toolctrl/consumer-testkit/installation";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { afterSaveEffects } from "@toolctrl/domain/after-save-effects";
import { rowCreate } from "@toolctrl/domain/rows";
import { expect } from "vitest";

/** An effect is a setting of the saved row's label; that it was set to the same again would show as one more. */
export const fieldSets: AfterSaveSubject = {
  name: "field-sets",
  drainer: new URL("../one-drainer.ts", import.meta.url),
  afterSaveEffects: afterSaveEffects(),
  async publish(installation) {
    const { database, tenantId } = installation;
    await countWrites(installation);
    const { eventId } = await database.prisma.$transaction((tx) => rowCreate(tx, { tenantId, table: "deal", data: { name: "First" } }));
    return eventId;
  },
  table: "RowField",
  async effects({ database }) {
    return (await database.pool.query(`SELECT 1 FROM "FieldWrite" WHERE "field" = 'label'`)).rowCount ?? 0;
  },
  async check({ database }, eventId) {
    const { rows } = await database.pool.query(
      `SELECT f."field", f."value", f."appliedPosition" = e."position" AS "ofEvent" FROM "RowField" f, "OutboxEvent" e WHERE e."id" = $1`,
      [eventId],
    );
    expect(rows).toEqual([{ field: "label", value: "First", ofEvent: true }]);
  },
  /** As of no event twice: each writing of a field is younger than the one before. */
  removeProtection: (installation) => loseKey(installation, "RowField", "appliedPosition"),
};

/** Keeps a line for each time that a field is written, in the transaction that does it. */
async function countWrites({ database }: Installation): Promise<void> {
  await database.pool.query(
    `CREATE TABLE "FieldWrite" ("field" text NOT NULL);
     CREATE FUNCTION "countWrite"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO "FieldWrite" VALUES (NEW."field"); RETURN NULL; END $$;
     CREATE TRIGGER "countWrite" AFTER INSERT OR UPDATE ON "RowField" FOR EACH ROW EXECUTE FUNCTION "countWrite"()`,
  );
}
