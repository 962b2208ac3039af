import { postgresSchemaOf } from "@toolctrl/queue/names";
import { waitFor } from "@toolctrl/testkit/wait";
import type { Installation } from "./installation.ts";

/** Waits until the servers have seen the last of a process that was killed: what it had sent is done, its transactions are gone. */
export async function untilForgotten({ database, redis, appSessions }: Installation): Promise<void> {
  await waitFor(
    async () =>
      (
        await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`, [
          appSessions,
        ])
      ).rowCount === 0,
    { what: "the sessions of the killed process to end" },
  );
  // Redis reads what has come on all connections in one turn: after the second answer it has read all that was there before the first.
  await redis?.ping();
  await redis?.ping();
}

/** Lets the holds that workers have on jobs run out, as time would; the next look for abandoned jobs is due at once. */
export async function letJobLocksRunOut({ kind, backend, database, redis }: Installation): Promise<void> {
  if (kind === "postgres") {
    const schema = postgresSchemaOf(backend.prefix);
    await database.pool.query(`UPDATE "${schema}".job SET locked_until_ms = 1 WHERE locked_until_ms IS NOT NULL`);
    await database.pool.query(`UPDATE "${schema}".meta SET value = '1' WHERE field = 'stalled-check'`);
    return;
  }
  const keys = (await redis?.keys(`${escapeGlob(backend.prefix)}:*`)) ?? [];
  const locks = keys.filter((key) => key.endsWith(":lock") || key.endsWith(":stalled-check"));
  if (locks.length > 0) await redis?.del(...locks);
}

/** Lets everything a dead process held run out, as time would: job locks, idempotency claims, event leases, calls that got no answer. */
export async function letLocksRunOut(installation: Installation): Promise<void> {
  const { backend, database, redis, tenantId, shared } = installation;
  await letJobLocksRunOut(installation);
  const ofTenant = `($1::text IS NULL OR "tenantId" = $1)`;
  const values = [shared ? tenantId : null];
  await database.pool.query(
    `UPDATE "IdempotencyKey" SET "expiresAt" = clock_timestamp() - interval '1 second' WHERE "value" LIKE '{"v":1,"kind":"claim"%'`,
  );
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "status" = 'PROCESSING' AND ${ofTenant}`,
    values,
  );
  await database.pool.query(
    `UPDATE "OutboxIntent" SET "sendingSince" = "sendingSince" - interval '1 day' WHERE "state" = 'sending' AND ${ofTenant}`,
    values,
  );
  await database.pool.query(
    `UPDATE "WorkflowStep" SET "callingSince" = "callingSince" - interval '1 day'
     WHERE "status" = 'calling' AND "executionId" IN (SELECT "id" FROM "WorkflowExecution" WHERE ${ofTenant})`,
    values,
  );
  for (const key of (await redis?.keys(`${escapeGlob(backend.prefix)}:idem:${tenantId}:*`)) ?? []) {
    if ((await redis?.get(key))?.startsWith('{"v":1,"kind":"claim"') === true) await redis?.del(key);
  }
}

function escapeGlob(text: string): string {
  return text.replaceAll(/[[\]{}*?\\]/g, "\\$&");
}
