import type { Prisma, PrismaClient } from "@toolctrl/db/client";
import { mergeDuplicates, type MergedLead } from "./merge-duplicates.ts";

const LEADS_PER_TRANSACTION = 100;
const TRANSACTION_LIMITS = { maxWait: 10_000, timeout: 120_000 };

export interface DedupeOptions {
  readonly dryRun: boolean;
  /** At most this many leads. */
  readonly limit: number;
  /** For the audit row; a dry run writes none. */
  readonly actor: string;
  readonly reason: string | null;
  readonly onProgress?: ((leads: number) => void) | undefined;
  /** Ends it after the batch that runs. */
  readonly signal?: AbortSignal | undefined;
}

export interface DedupeReport {
  readonly leads: MergedLead[];
  /** Opportunities that were merged into another, or would be. */
  readonly merged: number;
  /** Whether there are more: the limit or the signal ended it. */
  readonly more: boolean;
  /** How the unique key stands that makes more of them impossible. */
  readonly uniqueKey: "valid" | "invalid" | "missing";
}

/**
 * Merges the opportunities of leads that were converted more than once, in batches, each with its audit row in its own transaction. What
 * a batch has merged stays merged when a later one fails; running it again goes on.
 */
export async function dedupeOpportunities(prisma: PrismaClient, options: DedupeOptions): Promise<DedupeReport> {
  const { leads, more } = await (options.dryRun ? preview(prisma, options.limit) : mergeAll(prisma, options));
  const merged = leads.reduce((sum, { mergedIds }) => sum + mergedIds.length, 0);
  return { leads, merged, more, uniqueKey: await readUniqueKey(prisma) };
}

async function preview(prisma: PrismaClient, limit: number): Promise<{ leads: MergedLead[]; more: boolean }> {
  const found = await prisma.$transaction((tx) => mergeDuplicates(tx, { maxLeads: limit + 1, dryRun: true }), TRANSACTION_LIMITS);
  return { leads: found.slice(0, limit), more: found.length > limit };
}

async function mergeAll(prisma: PrismaClient, options: DedupeOptions): Promise<{ leads: MergedLead[]; more: boolean }> {
  const leads: MergedLead[] = [];
  for (let done = 1; done > 0 && leads.length < options.limit && options.signal?.aborted !== true;) {
    const maxLeads = Math.min(LEADS_PER_TRANSACTION, options.limit - leads.length);
    const batch = await prisma.$transaction((tx) => mergeBatch(tx, maxLeads, options), TRANSACTION_LIMITS);
    leads.push(...batch);
    options.onProgress?.(leads.length);
    done = batch.length;
  }
  const left = await preview(prisma, 1);
  return { leads, more: left.leads.length > 0 };
}

async function mergeBatch(tx: Prisma.TransactionClient, maxLeads: number, options: DedupeOptions): Promise<MergedLead[]> {
  const batch = await mergeDuplicates(tx, { maxLeads, dryRun: false });
  if (batch.length === 0) return [];
  const { actor, reason } = options;
  await tx.outboxAction.create({ data: { actor, action: "leads.dedupe", reason, params: { leads: batch }, affected: batch.length } });
  return batch;
}

async function readUniqueKey(prisma: PrismaClient): Promise<DedupeReport["uniqueKey"]> {
  const rows = await prisma.$queryRaw<Array<{ valid: boolean }>>`
    SELECT i.indisvalid AS "valid" FROM pg_index i WHERE i.indexrelid = to_regclass('"Opportunity_tenantId_sourceLeadId_key"')`;
  if (rows[0] === undefined) return "missing";
  return rows[0].valid ? "valid" : "invalid";
}
