import { expect, test } from "vitest";
import { verifySchema } from "../src/migrate.ts";
import { findSchemaProblems } from "../src/schema.ts";
import { openDatabase } from "./support.ts";

test.each([
  [`ALTER TABLE "OutboxEvent" SET UNLOGGED`, `expected table OutboxEvent to be "LOGGED", got "UNLOGGED"`],
  [`ALTER TABLE "OutboxReceipt" ENABLE ROW LEVEL SECURITY`, `got "LOGGED, ROW LEVEL SECURITY"`],
  [`ALTER TABLE "OutboxReceipt" FORCE ROW LEVEL SECURITY`, `got "LOGGED, FORCE ROW LEVEL SECURITY"`],
  [`ALTER TABLE "AuditEntry" ENABLE REPLICA TRIGGER "AuditEntry_append_only"`, "(REPLICA ONLY)"],
  [`ALTER TABLE "AuditEntry" DISABLE TRIGGER "AuditEntry_append_only"`, "(DISABLED)"],
  [`DROP TRIGGER "AuditEntry_append_only" ON "AuditEntry"`, "trigger AuditEntry.AuditEntry_append_only is missing"],
  [`ALTER TABLE "EmailDelivery" DISABLE TRIGGER ALL`, "ON DELETE CASCADE (DISABLED)"],
  [`ALTER TABLE "EmailMessage" DISABLE TRIGGER ALL`, "ON DELETE CASCADE (DISABLED)"],
  [`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_recordKey_check"`, "OutboxEvent_recordKey_check is missing"],
  [`ALTER TABLE "OutboxEvent" DROP CONSTRAINT "OutboxEvent_claim_check"`, "OutboxEvent_claim_check is missing"],
  [`ALTER TABLE "OutboxMode" DROP CONSTRAINT "OutboxMode_pkey"`, "constraint OutboxMode.OutboxMode_pkey is missing"],
  [`ALTER TABLE "EmailDelivery" DROP CONSTRAINT "EmailDelivery_messageId_fkey"`, "EmailDelivery_messageId_fkey is missing"],
  [`ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey" CASCADE`, "column OutboxEvent.recordKey is missing"],
  [`DROP INDEX "OutboxEvent_line_idx"`, "index OutboxEvent.OutboxEvent_line_idx is missing"],
  [`DROP INDEX "OutboxEvent_due_idx"; CREATE INDEX "OutboxEvent_due_idx" ON "OutboxEvent" ("status")`, "expected index OutboxEvent"],
  [`ALTER TABLE "OutboxEvent" RESET (fillfactor)`, "storage OutboxEvent.fillfactor is missing"],
])("no migration mends the damage of %s: verification says the SQL that does", async (damage, problem) => {
  const { url, pool } = await openDatabase();
  await pool.query(damage);
  await expect(verifySchema({ url })).rejects.toMatchObject({ code: "MIGRATE.VERIFY", message: expect.stringContaining(problem) });
  for (const { mend } of await findSchemaProblems(pool)) for (const statement of mend?.split(/;\s*/) ?? []) await pool.query(statement);
  await expect(verifySchema({ url })).resolves.toBeUndefined();
});

test("more options of a table's storage, an operator's tuning, are no damage", async () => {
  const { url, pool } = await openDatabase();
  await pool.query(`ALTER TABLE "OutboxReceipt" SET (autovacuum_vacuum_scale_factor = 0.02)`);
  await pool.query(`ALTER TABLE "OutboxEvent" SET (autovacuum_vacuum_insert_threshold = 5000)`);
  await expect(verifySchema({ url })).resolves.toBeUndefined();
});
