import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

const hitRow = z.object({
  id: z.string(),
  collection: z.string(),
  recordId: z.string(),
  title: z.string(),
  metadata: z.record(z.string(), z.json()),
  ordinal: z.number(),
  text: z.string(),
  score: z.number(),
});

/** A chunk that was found. `score` orders the hits of one ranking; scores of two rankings have nothing to do with each other. */
export type RankedChunk = z.output<typeof hitRow>;

/** What both rankings look through. */
export interface RankScope {
  readonly tenantId: string;
  /** Null is all collections of the tenant. */
  readonly collections: readonly string[] | null;
  readonly limit: number;
}

/** A vector, and the model that it is of: comparable with the vectors of that model and its length, as long as it has a direction. */
export interface QueryVector {
  readonly model: string;
  readonly vector: readonly number[];
}

/** The columns of a hit, of a chunk `c` and its document `d`. */
export const HIT_COLUMNS = `c."id", c."collection", c."recordId", d."title", d."metadata", c."ordinal", c."text"`;

/** Joins the documents of the chunks `c`. */
export const JOIN_DOCUMENT = `JOIN "RagDocument" d ON d."tenantId" = c."tenantId" AND d."collection" = c."collection" AND d."recordId" = c."recordId"`;

export async function queryHits(db: Queryable, sql: string, values: unknown[]): Promise<RankedChunk[]> {
  return z.array(hitRow).parse((await db.query(sql, values)).rows);
}
