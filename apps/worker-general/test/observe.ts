import { expect } from "vitest";
import type { Rig } from "./rig.ts";
import type { Worker } from "./worker.ts";

/** Makes every backoff run out, without waiting for it. */
export async function makeDue(rig: Rig): Promise<void> {
  await rig.database.pool.query(`UPDATE "OutboxEvent" SET "scheduledAt" = clock_timestamp() WHERE "status" = 'PENDING'`);
}

/** Makes every lease run out, as time would. */
export async function loseLeases(rig: Pick<Rig, "database">): Promise<void> {
  await rig.database.pool.query(`UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() WHERE "status" = 'PROCESSING'`);
}

/** How many events have each status, and how many had a failure counted against them. */
export async function statuses(rig: Rig): Promise<Record<string, number>> {
  const { rows } = await rig.database.pool.query<{ status: string; n: number }>(
    `SELECT "status"::text AS "status", count(*)::int AS n FROM "OutboxEvent" GROUP BY 1`,
  );
  const retried = await rig.database.pool.query(`SELECT 1 FROM "OutboxEvent" WHERE "retries" > 0`);
  return { ...Object.fromEntries(rows.map(({ status, n }) => [status, n])), retried: retried.rowCount ?? 0 };
}

/** Ends workers by SIGTERM: that they exit with 0 also says that none of them ended before. */
export async function endInOrder(workers: readonly Worker[]): Promise<void> {
  for (const worker of workers) worker.kill("SIGTERM");
  expect(await Promise.all(workers.map((worker) => worker.waitForExit({ timeoutMs: 25_000 })))).toEqual(
    workers.map(() => ({ code: 0, signal: null })),
  );
}
