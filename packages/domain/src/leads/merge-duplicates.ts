import type { Prisma } from "@toolctrl/db/client";
import { z } from "zod";
import { formatOpportunityNumber } from "./opportunity-number.ts";

const mergedLead = z.object({
  tenantId: z.string(),
  sourceLeadId: z.string(),
  keptId: z.string(),
  keptNumber: z.string(),
  mergedIds: z.array(z.string()),
  mergedNumbers: z.array(z.string()),
  notes: z.number(),
});

/** A lead that had several opportunities: the one kept, those merged into it (numbers are human), and how many notes went with them. */
export type MergedLead = z.output<typeof mergedLead>;

/**
 * Merges the duplicate opportunities of at most `maxLeads` leads, or says what that would do. The rule is a function of the database, the one
 * that the migration before the unique key calls.
 *
 * Locks: per lead the lead FOR UPDATE, then its opportunities and notes; leads by (tenant, id).
 */
export async function mergeDuplicates(tx: Prisma.TransactionClient, options: { maxLeads: number; dryRun: boolean }): Promise<MergedLead[]> {
  const rows = await tx.$queryRawUnsafe<unknown[]>(
    `SELECT m."tenantId", m."sourceLeadId"::text AS "sourceLeadId", m."keptId"::text AS "keptId", m."mergedIds"::text[] AS "mergedIds", m."notes",
       (SELECT o."number"::text FROM "Opportunity" o WHERE o."id" = m."keptId") AS "keptNumber",
       ARRAY(SELECT o."number"::text FROM unnest(m."mergedIds") WITH ORDINALITY x("id", "place") JOIN "Opportunity" o ON o."id" = x."id"
         ORDER BY x."place") AS "mergedNumbers"
     FROM "mergeDuplicateOpportunities"($1::int, $2::boolean) m`,
    options.maxLeads,
    options.dryRun,
  );
  return z
    .array(mergedLead)
    .parse(rows)
    .map((lead) => ({ ...lead, keptNumber: human(lead.keptNumber), mergedNumbers: lead.mergedNumbers.map(human) }));
}

function human(number: string): string {
  return formatOpportunityNumber(BigInt(number));
}
