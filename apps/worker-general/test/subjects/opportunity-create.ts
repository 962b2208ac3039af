import { drain } from "@toolctrl/consumer-testkit/drain";
import type { AfterSaveSubject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { afterSaveEffects } from "@toolctrl/domain/after-save-effects";
import { convertLead, createLead } from "@toolctrl/domain/leads";
import { expect } from "vitest";

/** An effect is an opportunity; its number must be the tenant's first, and the next one free. */
export const opportunityCreate: AfterSaveSubject = {
  name: "opportunity-create",
  drainer: new URL("../one-drainer.ts", import.meta.url),
  afterSaveEffects: afterSaveEffects(),
  async publish(installation) {
    const { database, tenantId } = installation;
    const leadId = await database.prisma.$transaction((tx) => createLead(tx, { tenantId, name: "Ann", email: "ann@example.test" }));
    await drain(installation, afterSaveEffects());
    const { eventId } = await database.prisma.$transaction((tx) => convertLead(tx, { tenantId, leadId }));
    return eventId;
  },
  table: "Opportunity",
  async effects({ database, tenantId }) {
    return (await database.pool.query(`SELECT 1 FROM "Opportunity" WHERE "tenantId" = $1`, [tenantId])).rowCount ?? 0;
  },
  async check({ database, tenantId }) {
    const { rows } = await database.pool.query(
      `SELECT o."number"::int AS "number", c."value"::int AS "drawn" FROM "Opportunity" o JOIN "TenantCounter" c USING ("tenantId") WHERE o."tenantId" = $1`,
      [tenantId],
    );
    expect(rows).toEqual([{ number: 1, drawn: 1 }]);
  },
  /** An opportunity that has forgotten its lead is not found by it. */
  async removeProtection({ database }) {
    await database.pool.query(
      `CREATE FUNCTION "loseLead"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW."sourceLeadId" := NULL; RETURN NEW; END $$;
       CREATE TRIGGER "loseLead" BEFORE INSERT ON "Opportunity" FOR EACH ROW EXECUTE FUNCTION "loseLead"()`,
    );
  },
};
