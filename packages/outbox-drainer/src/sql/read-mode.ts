import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const modeSchema = z.object({ mode: z.enum(["batch", "pull"]), desired: z.enum(["batch", "pull"]), epoch: z.string().transform(BigInt) });

/** Which drainer may claim, and under which epoch. */
export type DrainerMode = z.infer<typeof modeSchema>;

/** Reads the one mode row; no lock, one page. */
export async function readMode(db: Queryable): Promise<DrainerMode> {
  const { rows } = await db.query<Record<string, unknown>>(
    `SELECT "mode", "desired", "epoch"::text AS "epoch" FROM "OutboxMode" WHERE "id" = 1`,
  );
  return modeSchema.parse(rows[0]);
}
