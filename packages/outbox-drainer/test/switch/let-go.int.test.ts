import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { attemptsOf, claimOne, effectOf, gate, insertRecordEvents, mark, preparePull } from "../pull/support.ts";
import { openDatabase } from "../support.ts";

test("a claim that is let go runs out while its attempt hangs, and one that began later is still prolonged", async () => {
  const database = await openDatabase();
  await preparePull(database);
  const expired = async (id: string): Promise<boolean> =>
    (await database.pool.query(`SELECT 1 FROM "OutboxEvent" WHERE "id" = $1 AND "lockedUntil" < clock_timestamp()`, [id])).rowCount === 1;
  const hang = gate();
  const effect = effectOf(async (tx, event) => {
    await hang.opened;
    await mark(tx, event.id);
  });
  const attempts = attemptsOf(database, [effect], { settings: { leaseMs: 900 } });
  await insertRecordEvents(database, 1, { record: "1" });
  await insertRecordEvents(database, 1, { record: "2" });
  const hung = await claimOne(database);
  const hanging = attempts.run(hung);
  attempts.letGo(performance.now());
  const later = await claimOne(database);
  const going = attempts.run(later);
  await database.pool.query(`UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() + interval '900 milliseconds'`);
  await waitFor(() => expired(hung.id), { what: "the claim that was let go to run out" });
  await waitFor(async () => !(await expired(later.id)), { what: "the later claim to be prolonged" });
  hang.open();
  // Nobody took the event meanwhile: what its attempt did still counts.
  expect([(await hanging).fate, (await going).fate]).toEqual(["kept", "kept"]);
});
