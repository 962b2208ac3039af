import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const receiptRow = z.object({ eventId: z.string(), consumer: z.string(), effectEpoch: z.number(), createdAt: z.date() });

export type DoneReceipt = z.output<typeof receiptRow>;

/** Receipts that say `done` of many events, by event and consumer. Index: the primary key. No lock. */
export async function listDoneReceipts(db: Queryable, eventIds: readonly string[]): Promise<DoneReceipt[]> {
  const { rows } = await db.query(
    `SELECT "eventId"::text AS "eventId", "consumer", "effectEpoch", "createdAt" FROM "OutboxReceipt"
      WHERE "eventId" = ANY($1::uuid[]) AND "outcome" = 'done' ORDER BY "eventId", "consumer", "effectEpoch"`,
    [eventIds],
  );
  return z.array(receiptRow).parse(rows);
}
