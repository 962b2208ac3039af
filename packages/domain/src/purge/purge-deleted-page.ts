import type { Queryable } from "@toolctrl/db/sql";
import { z } from "zod";

/** A table whose rows outlive the deletion of their records, and the events that could bring one back. */
export type PurgedTable =
  | { readonly table: "SearchDocument"; readonly upsert: "search.index.upsert" }
  | { readonly table: "RagDocument"; readonly upsert: "rag.index.upsert" };

/** A place in the order of the purge. */
export interface PurgePlace {
  readonly deletedAt: string;
  readonly tenantId: string;
  readonly collection: string;
  readonly recordId: string;
}

export const PURGE_START: PurgePlace = { deletedAt: "-infinity", tenantId: "", collection: "", recordId: "" };

const pageRow = z.object({
  looked: z.number(),
  purged: z.number(),
  deletedAt: z.string().nullable(),
  tenantId: z.string().nullable(),
  collection: z.string().nullable(),
  recordId: z.string().nullable(),
});

export interface PurgePage {
  readonly looked: number;
  readonly purged: number;
  /** The last row that was looked at; null when there was none. */
  readonly last: PurgePlace | null;
}

/**
 * Looks at one page of old rows of deleted records, and removes those that nothing can undo any more: there is no older upsert of the record,
 * whatever its state (it might be requeued), and the row is older than `horizon`, the oldest transaction that was open before (such a one might
 * yet commit an upsert).
 *
 * - Lock: the rows of the page, FOR UPDATE SKIP LOCKED. Order and index: the table's `_deleted_idx`; for the upserts
 *   `OutboxEvent_search_upsert_idx` or `OutboxEvent_rag_upsert_idx`, where of old positions little is left after retention. The type of the
 *   upserts stands in the statement, as no plan for a parameter could use an index of one type.
 * - A page is walked past also where all of it is kept. A crash costs nothing: the next run starts from the oldest again.
 */
export async function purgeDeletedPage(
  db: Queryable,
  { table, upsert }: PurgedTable,
  request: { readonly olderThanHours: number; readonly limit: number; readonly after: PurgePlace; readonly horizon: string },
): Promise<PurgePage> {
  const { after } = request;
  const { rows } = await db.query(
    `WITH page AS MATERIALIZED (
       SELECT d."tenantId", d."collection", d."recordId", d."appliedPosition", d."deletedAt", d.xmin AS "writer" FROM "${table}" d
        WHERE d."deletedAt" < (SELECT clock_timestamp()) - $1::float8 * interval '1 hour'
          AND (d."deletedAt", d."tenantId", d."collection", d."recordId") > ($3::timestamptz, $4::text, $5::text, $6::text)
        ORDER BY d."deletedAt", d."tenantId", d."collection", d."recordId" LIMIT $2 FOR UPDATE SKIP LOCKED
     ),
     gone AS (
       DELETE FROM "${table}" d USING page
        WHERE d."tenantId" = page."tenantId" AND d."collection" = page."collection" AND d."recordId" = page."recordId"
          AND age(page."writer") > age($7::xid)
          AND NOT EXISTS (
            SELECT 1 FROM "OutboxEvent" e
             WHERE e."eventType" = '${upsert}' AND e."tenantId" = page."tenantId" AND e."position" < page."appliedPosition"
               AND e."payload" ->> 'collection' = page."collection" AND e."payload" ->> 'recordId' = page."recordId")
       RETURNING 1
     )
     SELECT (SELECT count(*)::int FROM page) AS "looked", (SELECT count(*)::int FROM gone) AS "purged",
            last."deletedAt"::text AS "deletedAt", last."tenantId", last."collection", last."recordId"
       FROM (SELECT 1) one LEFT JOIN LATERAL (
         SELECT * FROM page ORDER BY "deletedAt" DESC, "tenantId" DESC, "collection" DESC, "recordId" DESC LIMIT 1
       ) last ON true`,
    [request.olderThanHours, request.limit, after.deletedAt, after.tenantId, after.collection, after.recordId, request.horizon],
  );
  const { looked, purged, deletedAt, tenantId, collection, recordId } = pageRow.parse(rows[0]);
  if (deletedAt === null || tenantId === null || collection === null || recordId === null) return { looked, purged, last: null };
  return { looked, purged, last: { deletedAt, tenantId, collection, recordId } };
}
