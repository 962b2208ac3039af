import type { Prisma } from "@toolctrl/db/client";
import { z } from "zod";

const mergedLead = z.object({
  tenantId: z.string(),
  sourceLeadId: z.string(),
  keptId: z.string(),
  mergedIds: z.array(z.string()),
  notes: z.number(),
});

/** A lead that had several opportunities: the one kept, those merged into it, and how many notes went with them. */
export type MergedLead = z.output<typeof mergedLead>;

/**
 * Merges the duplicate opportunities of at most `maxLeads` leads, or says what that would do. The rule is a function of the database, the one
 * that the migration before the unique key calls.
 *
 * Locks: per lead the lead FOR UPDATE, then its opportunities and notes; leads by (tenant, id).
 */
export async function mergeDuplicates(tx: Prisma.TransactionClient, options: { maxLeads: number; dryRun: boolean }): Promise<MergedLead[]> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT "tenantId", "sourceLeadId"::text AS "sourceLeadId", "keptId"::text AS "keptId", "mergedIds"::text[] AS "mergedIds", "notes"
     FROM "mergeDuplicateOpportunities"($1::int, $2::boolean)`,
    options.maxLeads,
    options.dryRun,
  );
  return z.array(mergedLead).parse(rows);
}
