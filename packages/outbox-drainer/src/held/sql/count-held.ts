import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";
import { HELD_CODE } from "../hold.ts";

/** More are not counted: a sampler asks every few seconds. */
export const MAX_HELD_COUNTED = 100_000;

/** How many events are held, {@link MAX_HELD_COUNTED} at most. Index: "OutboxEvent_held_idx". No lock. */
export async function countHeld(db: Queryable): Promise<number> {
  const { rows } = await db.query(
    `SELECT count(*)::int AS "held" FROM (
       SELECT 1 FROM "OutboxEvent" e WHERE e."status" = 'PENDING' AND e."lastErrorCode" = '${HELD_CODE}' LIMIT ${MAX_HELD_COUNTED}) x`,
  );
  return z.object({ held: z.number() }).parse(rows[0]).held;
}
