import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

/** More of a status are not counted: a sampler asks every few seconds. */
const MAX_COUNTED = 100_000;

const OPEN = ["queued", "running", "waiting"] as const;
const ENDED = ["success", "error", "rejected", "skipped", "cancelled"] as const;

const countsOf = <const Status extends string>(statuses: readonly Status[]) =>
  z.object(Object.fromEntries(statuses.map((status) => [status, z.number()])) as Record<Status, z.ZodNumber>);
const answer = z.object({ open: countsOf(OPEN), ended: countsOf(ENDED), oldestQueuedSeconds: z.number() });

/** Runs of all tenants by status; of those that have ended, the last hour's. `oldestQueuedSeconds`: since the start of the one nobody has begun, 0 for none. */
export type RunCounts = z.output<typeof answer>;

/**
 * Counts at most {@link MAX_COUNTED} of each status. No lock. Index: "WorkflowExecution_state_idx", for each status on its own; the oldest queued run
 * is the first one there, as none of them has a "finishedAt".
 */
export async function countRuns(db: Queryable): Promise<RunCounts> {
  const { rows } = await db.query(
    `SELECT (
       SELECT jsonb_object_agg(s."status", (
         SELECT count(*) FROM (SELECT 1 FROM "WorkflowExecution" e WHERE e."status" = s."status" LIMIT ${MAX_COUNTED}) open
       )) FROM unnest($1::text[]) AS s("status")) AS "open",
     (
       SELECT jsonb_object_agg(s."status", (
         SELECT count(*) FROM (
           SELECT 1 FROM "WorkflowExecution" e
            WHERE e."status" = s."status" AND e."finishedAt" > (SELECT clock_timestamp()) - interval '1 hour' LIMIT ${MAX_COUNTED}) ended
       )) FROM unnest($2::text[]) AS s("status")) AS "ended",
     COALESCE((
       SELECT extract(epoch FROM clock_timestamp() - e."createdAt") FROM "WorkflowExecution" e
        WHERE e."status" = 'queued' ORDER BY e."finishedAt", e."createdAt" LIMIT 1), 0)::float8 AS "oldestQueuedSeconds"`,
    [[...OPEN], [...ENDED]],
  );
  return answer.parse(rows[0]);
}
