// Mostly waits: for a pool that is used up.
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { closeGate } from "./gate.ts";
import { endInOrder } from "./observe.ts";
import { countNotifications, publishNotifications, untilNotified } from "./publish.ts";
import { openRig } from "./rig.ts";
import { watchHealth } from "./watch-health.ts";

test("a pool that transactions hold: ticks and /readyz fail with a pool error, /healthz stays 200, and work resumes when it is free", async () => {
  // One connection, and one more for the attempt that this process may run.
  const rig = await openRig({ env: { DATABASE_POOL_MAX: "1", OUTBOX_PULL_PARALLELISM: "1" } });
  const gate = await closeGate(rig, `BEFORE INSERT ON "Notification" FOR EACH ROW`);
  const worker = await rig.start("general");
  const watch = watchHealth(worker);
  await waitFor(() => watch.readiness.at(-1) === 200, { what: "readiness" });
  const ids = await publishNotifications(rig, 2);
  await gate.untilWaiting(2);
  await worker.waitForLine(/expected a database connection within \d+ ms, got none.*tick failed/);
  expect(await worker.metric(`outbox_tick_errors_total{code="DB.POOL_TIMEOUT"}`)).toBeGreaterThan(0);
  const { status, checks } = await worker.ready();
  expect(status).toBe(503);
  expect(checks).toMatchObject({
    database: { ok: false, error: expect.stringMatching(/^expected a database connection within/) as string },
  });
  expect([checks["queue"]?.ok, checks["store"]?.ok]).toEqual([true, true]);
  ids.push(...(await publishNotifications(rig, 3)));
  await gate.open();
  await untilNotified(rig, ids);
  await waitFor(() => watch.readiness.at(-1) === 200, { what: "readiness" });
  expect([watch.readiness, watch.liveness()]).toEqual([[200, 503, 200], [200]]);
  expect(await countNotifications(rig, ids)).toBe(5);
  await endInOrder([worker]);
});
