import { transaction, type Database } from "@toolctrl/db/client";
import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { finishExecution } from "../runner/finish-execution.ts";
import { publishContinue } from "../runner/publish-continue.ts";
import type { ExecutionKey } from "./execution.ts";
import { lockExecution } from "./lock-execution.ts";

/** How long a process that streams a run holds it without a sign of life, ms. */
export const STREAM_LEASE_MS = 30_000;

/** Takes or keeps the lease of a streamed run, and has a worker look at it when the lease would be over. */
export async function holdStream(tx: Queryable, key: ExecutionKey): Promise<void> {
  const execution = await lockExecution(tx, key);
  const until = new Date(execution.now.getTime() + STREAM_LEASE_MS);
  await tx.query(`UPDATE "WorkflowExecution" SET "streamUntil" = $2 WHERE "id" = $1::uuid`, [execution.id, until]);
  await publishContinue(tx, execution, { reason: "stream", scheduledAt: until });
}

/** Lengthens the lease of a streamed run by the database's clock. */
export async function renewStream(db: Queryable, { executionId }: ExecutionKey): Promise<void> {
  await db.query(
    `UPDATE "WorkflowExecution" SET "streamUntil" = clock_timestamp() + $2::float8 * interval '1 millisecond' WHERE "id" = $1::uuid AND "streamUntil" IS NOT NULL`,
    [executionId, STREAM_LEASE_MS],
  );
}

/** Gives a streamed run up: whoever goes on with it is a worker. */
export async function releaseStream(db: Queryable, { executionId }: ExecutionKey): Promise<void> {
  await db.query(`UPDATE "WorkflowExecution" SET "streamUntil" = NULL WHERE "id" = $1::uuid`, [executionId]);
}

/**
 * Ends a streamed run that its own process stops between two steps, and gives it up: without a lease nobody would go on with it or end it.
 * Nothing happens to one that has ended.
 */
export async function stopStream(pool: Database["pool"], key: ExecutionKey, why: string): Promise<void> {
  await transaction(pool, async (tx) => {
    const execution = await lockExecution(tx, key);
    const error = new CodedError("WORKFLOW.STREAM_STOPPED", `expected run ${execution.id} to end in its stream, got it stopped: ${why}`, {
      facts: { ...key },
    });
    if (execution.finishedAt === null) await finishExecution(tx, execution, { status: "error", error });
    await releaseStream(tx, key);
  });
}

/**
 * Ends a streamed run whose process is gone: nobody will go on with it, so it says so. Nothing happens to one that is held, or was given up.
 * @returns ms until the lease is over; null when there is nothing to look at again
 */
export async function endLostStream(pool: Database["pool"], key: ExecutionKey): Promise<number | null> {
  return transaction(pool, async (tx) => {
    const execution = await lockExecution(tx, key);
    const { rows } = await tx.query<{ leftMs: number | null }>(
      `SELECT (extract(epoch FROM "streamUntil" - clock_timestamp()) * 1000)::float8 AS "leftMs" FROM "WorkflowExecution" WHERE "id" = $1::uuid`,
      [execution.id],
    );
    const leftMs = rows[0]?.leftMs ?? null;
    if (leftMs === null || execution.finishedAt !== null) return null;
    if (leftMs > 0) return leftMs;
    const why = `expected the process that streams run ${execution.id} to finish it, got no sign of life for ${STREAM_LEASE_MS / 1000} s`;
    await finishExecution(tx, execution, { status: "error", error: new CodedError("WORKFLOW.STREAM_LOST", why, { facts: { ...key } }) });
    await releaseStream(tx, key);
    return null;
  });
}
