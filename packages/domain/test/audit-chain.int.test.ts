import { randomUUID } from "node:crypto";
import { createDatabase, transaction, type Database } from "@toolctrl/db/client";
import type { JsonValue } from "@toolctrl/foundation/json";
import { createTestDatabase, type TestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { appendAuditEntry, canonicalJson, verifyAuditChain } from "../src/audit.ts";

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await createDatabase({ url: testDatabase.url, poolMax: 10, app: "audit-test", wakeup: false });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

function append(tenantId: string, entry: JsonValue, eventId: string = randomUUID()) {
  return transaction(database.pool, (tx) => appendAuditEntry(tx, { tenantId, eventId, effectEpoch: 0, entryJson: canonicalJson(entry) }));
}

async function tamper(statement: string, values: unknown[]): Promise<void> {
  await transaction(database.pool, async (tx) => {
    await tx.query(`ALTER TABLE "AuditEntry" DISABLE TRIGGER "AuditEntry_append_only"`);
    const { rowCount } = await tx.query(statement, values);
    expect(rowCount).toBe(1);
    await tx.query(`ALTER TABLE "AuditEntry" ENABLE TRIGGER "AuditEntry_append_only"`);
  });
}

async function chainOf(length: number): Promise<string> {
  const tenantId = `tenant-${randomUUID()}`;
  for (let index = 1; index <= length; index += 1) await append(tenantId, { action: "step", index });
  return tenantId;
}

describe("a tenant's audit chain", () => {
  test("is verified from its first entry to its head, over several batches", async () => {
    const tenantId = await chainOf(7);
    const report = await verifyAuditChain(database.pool, tenantId, { batchSize: 3 });
    expect(report).toMatchObject({ ok: true, verified: 7, headSequence: "7", broken: null });
    expect(report.headHash).toMatch(/^[0-9a-f]{64}$/);
  });

  test("of a tenant without entries is sound and empty", async () => {
    expect(await verifyAuditChain(database.pool, "nobody")).toMatchObject({ ok: true, verified: 0, headSequence: "0" });
  });

  test("stays sound for every kind of JSON value after its way through jsonb", async () => {
    const tenantId = `tenant-${randomUUID()}`;
    const values: JsonValue[] = [
      null,
      -0,
      1e21,
      5e-324,
      1.7976931348623157e308,
      0.1,
      123456789012345680000,
      'ä\u2028\ud83d\ude00\\"\n',
      { bb: 1, a: [true, { z: null, "": "" }], "1": 2, ä: 3, A: 4 },
      [],
      {},
    ];
    for (const value of values) await append(tenantId, value);
    expect(await verifyAuditChain(database.pool, tenantId)).toMatchObject({ ok: true, verified: values.length });
  });

  test("has one entry per event and epoch, whatever is appended again", async () => {
    const tenantId = await chainOf(1);
    const eventId = randomUUID();
    expect(await append(tenantId, { n: 1 }, eventId)).toMatchObject({ sequence: "2" });
    expect(await append(tenantId, { n: 2 }, eventId)).toBeNull();
    expect(await verifyAuditChain(database.pool, tenantId)).toMatchObject({ ok: true, verified: 2 });
  });

  test("grows without a gap when its first entries are appended at once", async () => {
    const tenantId = `tenant-${randomUUID()}`;
    const appended = await Promise.all(Array.from({ length: 30 }, (_, index) => append(tenantId, { index })));
    const sequences = appended.map((entry) => Number(entry?.sequence)).sort((a, b) => a - b);
    expect(sequences).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    expect(await verifyAuditChain(database.pool, tenantId, { batchSize: 7 })).toMatchObject({ ok: true, verified: 30 });
  });

  test("refuses UPDATE, DELETE and TRUNCATE", async () => {
    const tenantId = await chainOf(1);
    await expect(database.pool.query(`UPDATE "AuditEntry" SET "entry" = '{}' WHERE "tenantId" = $1`, [tenantId])).rejects.toThrow(
      "append-only",
    );
    await expect(database.pool.query(`DELETE FROM "AuditEntry" WHERE "tenantId" = $1`, [tenantId])).rejects.toThrow("append-only");
    await expect(database.pool.query(`TRUNCATE "AuditEntry"`)).rejects.toThrow("append-only");
  });
});

describe("verifying names the first row that is not what was appended, when", () => {
  test.each([
    [
      "its entry was changed",
      `UPDATE "AuditEntry" SET "entry" = '{"action":"step","index":99}' WHERE "tenantId" = $1 AND "sequence" = 3`,
      "3",
    ],
    ["its event was changed", `UPDATE "AuditEntry" SET "eventId" = gen_random_uuid() WHERE "tenantId" = $1 AND "sequence" = 3`, "3"],
    ["its epoch was changed", `UPDATE "AuditEntry" SET "effectEpoch" = 4 WHERE "tenantId" = $1 AND "sequence" = 3`, "3"],
    [
      "its time was moved by a microsecond",
      `UPDATE "AuditEntry" SET "createdAt" = "createdAt" + interval '1 microsecond' WHERE "tenantId" = $1 AND "sequence" = 3`,
      "3",
    ],
    ["its hash was changed", `UPDATE "AuditEntry" SET "hash" = repeat('a', 64) WHERE "tenantId" = $1 AND "sequence" = 3`, "3"],
    ["its link was changed", `UPDATE "AuditEntry" SET "previousHash" = repeat('a', 64) WHERE "tenantId" = $1 AND "sequence" = 3`, "3"],
    ["it was removed", `DELETE FROM "AuditEntry" WHERE "tenantId" = $1 AND "sequence" = 3`, "3"],
    ["the first one was removed", `DELETE FROM "AuditEntry" WHERE "tenantId" = $1 AND "sequence" = 1`, "1"],
    ["the last one was removed", `DELETE FROM "AuditEntry" WHERE "tenantId" = $1 AND "sequence" = 5`, "5"],
    [
      "the head was set back",
      `UPDATE "AuditChain" SET "sequence" = 2, "hash" = (SELECT "hash" FROM "AuditEntry" WHERE "tenantId" = $1 AND "sequence" = 2) WHERE "tenantId" = $1`,
      "3",
    ],
    ["the head's hash was changed", `UPDATE "AuditChain" SET "hash" = repeat('a', 64) WHERE "tenantId" = $1`, "6"],
    ["the head was removed", `DELETE FROM "AuditChain" WHERE "tenantId" = $1`, "1"],
  ])("%s", async (_what, statement, sequence) => {
    const tenantId = await chainOf(5);
    await tamper(statement, [tenantId]);
    const report = await verifyAuditChain(database.pool, tenantId, { batchSize: 2 });
    expect(report).toMatchObject({ ok: false, broken: { code: "AUDIT.CHAIN_BROKEN", sequence } });
  });
});
