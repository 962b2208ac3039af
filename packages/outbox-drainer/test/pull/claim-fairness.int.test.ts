import type { Database } from "@toolctrl/db/client";
import { describe, expect, test } from "vitest";
import { claimHead, type HeadCursor } from "../../src/pull/claim-head.ts";
import { headRequest as request, insertRecordEvents, openPull } from "./support.ts";

describe("fairness", () => {
  test("tenants take turns, whatever their backlog", async () => {
    const database = await openPull();
    for (let n = 0; n < 60; n += 1) await insertRecordEvents(database, 1, { tenantId: "loud", record: String(n), delay: "-1 hour" });
    for (const tenantId of ["a", "m", "z"]) await insertRecordEvents(database, 1, { tenantId });
    const tenants: string[] = [];
    for (let n = 0, cursor = ""; n < 4; n += 1) {
      const claim = await claimHead(database.pool, request({ afterTenant: cursor }));
      if (claim.kind !== "claimed") throw new Error(`expected a claim, got ${claim.kind}`);
      cursor = claim.cursor.tenant;
      tenants.push(claim.event.tenantId);
    }
    expect(tenants.sort()).toEqual(["a", "loud", "m", "z"]);
  });

  test("behind one record with a thousand waiting events, every other record's head is found", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 1000, { record: "hot", delay: "-1 hour" });
    for (let n = 0; n < 20; n += 1) await insertRecordEvents(database, 1, { record: `cold-${n}` });
    expect(await claimHead(database.pool, request())).toMatchObject({ kind: "claimed", event: { recordKey: "Lead/hot" } });
    const found = await claimAll(database);
    expect(found).toHaveLength(20);
  });

  test("two hundred lines whose heads are in flight, or wait for their backoff, hide none whose head is due", async () => {
    const database = await openPull();
    for (let n = 0; n < 200; n += 1) await insertRecordEvents(database, 2, { record: `a-${String(n).padStart(3, "0")}`, delay: "-1 hour" });
    await database.pool.query(
      `UPDATE "OutboxEvent" e SET "scheduledAt" = clock_timestamp() + interval '1 hour' WHERE "position" IN (SELECT min("position") FROM "OutboxEvent" GROUP BY "recordKey")`,
    );
    for (let n = 0; n < 10; n += 1) await insertRecordEvents(database, 1, { record: `z-${n}` });
    expect(await claimAll(database)).toHaveLength(10);
  });

  test("a tenant whose window is blocked is walked although another one's is not", async () => {
    const database = await openPull();
    await insertRecordEvents(database, 100, { tenantId: "b", record: "hot", delay: "-1 hour" });
    await insertRecordEvents(database, 1, { tenantId: "b", record: "cold" });
    for (const [tenantId, count] of [
      ["a", 50],
      ["c", 50],
    ] as const) {
      for (let n = 0; n < count; n += 1) await insertRecordEvents(database, 1, { tenantId, record: String(n) });
    }
    const claims: string[] = [];
    let cursor: HeadCursor = { tenant: "", key: null };
    for (let n = 0; n < 12; n += 1) {
      const claim = await claimHead(database.pool, request({ afterTenant: cursor.tenant }));
      if (claim.kind !== "claimed") throw new Error(`expected a claim, got ${claim.kind}`);
      cursor = claim.cursor;
      claims.push(String(claim.event.recordKey));
    }
    expect(claims).toContain("Lead/cold");
  });
});

async function claimAll(database: Database): Promise<string[]> {
  const found: string[] = [];
  const keys: Record<string, string> = {};
  for (let cursor = "", tries = 0; tries < 200; tries += 1) {
    const claim = await claimHead(database.pool, request({ afterTenant: cursor, afterKeys: keys }));
    if (claim.kind === "closed") throw new Error("expected the mode to be open");
    cursor = claim.cursor.tenant;
    if (claim.cursor.key !== null) keys[cursor] = claim.cursor.key;
    if (claim.kind === "claimed") found.push(claim.event.id);
    else if (!claim.more || tries > 100) return found;
  }
  return found;
}
