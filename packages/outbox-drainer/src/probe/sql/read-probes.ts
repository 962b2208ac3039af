import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { OUTBOX_STATUSES } from "../../actions/event-filter.ts";

const row = z.object({
  id: z.string(),
  status: z.enum(OUTBOX_STATUSES),
  handOffMs: z.number().nullable(),
  receipts: z.array(z.object({ consumer: z.string(), outcome: z.enum(["done", "dead"]), ms: z.number() })),
});

/** How far a probe is: times count from its publishing, by the database's clock, ms. */
export type ProbeRow = z.output<typeof row>;

/** Indexes: the primary keys of both tables. No lock. */
const ASK = `SELECT e."id", e."status"::text AS "status", extract(epoch FROM e."processedAt" - e."createdAt")::float8 * 1000 AS "handOffMs",
  (SELECT COALESCE(jsonb_agg(jsonb_build_object('consumer', r."consumer", 'outcome', r."outcome",
     'ms', extract(epoch FROM r."updatedAt" - e."createdAt")::float8 * 1000) ORDER BY r."updatedAt"), '[]')
   FROM "OutboxReceipt" r WHERE r."eventId" = e."id") AS "receipts"
 FROM "OutboxEvent" e WHERE e."id" = ANY ($1::uuid[])`;

export async function readProbes(db: Queryable, ids: readonly string[]): Promise<ProbeRow[]> {
  const { rows } = await db.query(ASK, [ids]);
  return z.array(row).parse(rows);
}
