import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const processRow = z.object({
  app: z.string(),
  host: z.string(),
  pid: z.number(),
  vote: z.string(),
  drains: z.boolean(),
  queueBackend: z.string(),
  queuePrefix: z.string(),
  queues: z.array(z.string()),
  /** The consumers that work on those queues; null where it has not said. */
  consumers: z.array(z.string()).nullable(),
  /** What keeps it from running pull workers; null where it has not said. */
  blockers: z.array(z.string()).nullable(),
  startedAt: z.date(),
});

export type LiveProcess = z.output<typeof processRow>;

/** The processes that were heard of lately, oldest first. */
export async function listLiveProcesses(db: Queryable): Promise<LiveProcess[]> {
  const { rows } = await db.query(
    `SELECT "app", "host", "pid", "vote", "drains", "queueBackend", "queuePrefix", "queues", "startedAt",
            NULLIF(to_jsonb(d) -> 'consumers', 'null'::jsonb) AS "consumers",
            NULLIF(to_jsonb(d) -> 'blockers', 'null'::jsonb) AS "blockers"
       FROM "OutboxDrainer" d WHERE "aliveUntil" > clock_timestamp() ORDER BY "startedAt", "id"`,
  );
  return z.array(processRow).parse(rows);
}
