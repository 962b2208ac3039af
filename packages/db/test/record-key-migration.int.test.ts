import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { transaction } from "../src/client.ts";
import { migrate, verifySchema } from "../src/migrate.ts";
import { recordKeyReady } from "../src/record-key.ts";
import { createLegacyDatabase, openAt } from "./legacy-database.ts";
import { gate, rejection, rowsOf } from "./support.ts";

const EVENT = `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload") VALUES (gen_random_uuid(), 't', 'a.b.c', '{"object": "Lead", "recordId": "7"}')`;

test.each([
  ["20261201000100_record_line_idx", "OutboxEvent_line_idx"],
  ["20261201000200_record_in_flight_key", "OutboxEvent_in_flight_key"],
])("when the build of %s is killed midway, the index counts as missing and the next run builds it", async (migration, index) => {
  const url = await createLegacyDatabase(migration);
  const db = await openAt(url);
  const indexValid = `SELECT indisvalid AS "valid" FROM pg_index WHERE indexrelid = '"${index}"'::regclass`;
  const holding = gate();
  const end = gate();
  const older = transaction(db.pool, async (tx) => {
    await tx.query(EVENT);
    holding.open();
    await end.opened;
  });
  await holding.opened;
  const killed = rejection(migrate({ url }));
  const builder = `application_name = 'toolctrl migrate' AND datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%${index}%'`;
  await waitFor(async () => (await rowsOf(db, `SELECT 1 FROM pg_stat_activity WHERE ${builder}`)).length, { what: "the build to wait" });
  await rowsOf(db, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${builder}`);
  expect(await killed).toMatchObject({ code: "MIGRATE.FAILED" });
  end.open();
  await older;
  expect(await rowsOf(db, indexValid)).toEqual([{ valid: false }]);
  expect(await recordKeyReady(db.pool)).toMatchObject({ column: true, indexes: false });
  expect((await migrate({ url })).applied).toContain(migration);
  expect(await rowsOf(db, indexValid)).toEqual([{ valid: true }]);
  expect(await recordKeyReady(db.pool)).toMatchObject({ column: true, indexes: true });
  await verifySchema({ url });
});

test("data that the unique index refuses stop the migration with a report; after the fix the rerun succeeds, and traffic goes on all the time", async () => {
  const url = await createLegacyDatabase("20261201000200_record_in_flight_key");
  const db = await openAt(url);
  await rowsOf(db, `${EVENT}, (gen_random_uuid(), 't', 'a.b.c', '{"object": "Lead", "recordId": "7"}')`);
  const claim = `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "claimMode" = 'pull', "lockToken" = gen_random_uuid(), "lockedUntil" = now()`;
  await rowsOf(db, claim);
  const error = await rejection(migrate({ url }));
  expect(error).toMatchObject({ code: "MIGRATE.FAILED", facts: { migration: "20261201000200_record_in_flight_key" } });
  expect(error.message).toContain(
    `could not create unique index "OutboxEvent_in_flight_key" (Key ("tenantId", "recordKey")=(t, Lead/7) is duplicated.)`,
  );
  await rowsOf(db, EVENT);
  expect(await recordKeyReady(db.pool)).toMatchObject({ indexes: false });
  await rowsOf(db, `UPDATE "OutboxEvent" SET "status" = 'PENDING', "claimMode" = NULL, "lockToken" = NULL, "lockedUntil" = NULL`);
  await migrate({ url });
  expect(await recordKeyReady(db.pool)).toMatchObject({ indexes: true });
  await verifySchema({ url });
});
