import { expect, test } from "vitest";
import { verifySchema } from "../src/migrate.ts";
import { findSchemaProblems } from "../src/schema.ts";
import { openDatabase } from "./support.ts";

test.each([
  [`ALTER TABLE "OutboxEvent" SET UNLOGGED`, `expected table OutboxEvent to be "LOGGED", got "UNLOGGED"`],
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

test("rows that are filtered are damage for the roles that see too few, and for nobody else", async () => {
  const { pool } = await openDatabase();
  const client = await pool.connect();
  try {
    await client.query(`BEGIN; CREATE ROLE outsider; GRANT SELECT ON ALL TABLES IN SCHEMA public TO outsider`);
    await client.query(`ALTER TABLE "OutboxReceipt" ENABLE ROW LEVEL SECURITY`);
    expect(await findSchemaProblems(client)).toEqual([]);
    await client.query("SET LOCAL ROLE outsider");
    const said = `expected table OutboxReceipt to be "LOGGED", got "LOGGED, ROWS FILTERED FOR THIS ROLE"`;
    expect(await findSchemaProblems(client)).toEqual([{ name: "table OutboxReceipt", said, mend: null }]);
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
});

test("of many differences the error tells the first ones whole, and how many more there are", async () => {
  const { url, pool } = await openDatabase();
  const { rows } = await pool.query<{ name: string }>(
    `SELECT indexname AS "name" FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE '%\\_idx' ORDER BY 1 LIMIT 10`,
  );
  await pool.query(`DROP INDEX ${rows.map(({ name }) => `"${name}"`).join(", ")}`);
  const { message } = await verifySchema({ url }).then(
    () => Promise.reject(new Error("expected differences")),
    (error: Error) => error,
  );
  expect(message.split("\n")).toHaveLength(10);
  expect(message).toMatch(/got 10 differences:\n.*\nand 2 more$/s);
  expect(message.length).toBeLessThan(2_000);
});
