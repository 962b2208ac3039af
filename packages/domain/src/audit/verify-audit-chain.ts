import type { Queryable } from "@toolctrl/db/sql";
import { AUDIT_GENESIS_HASH, auditHash } from "./audit-hash.ts";
import { canonicalJson } from "./canonical-json.ts";
import { findEntryPastHead } from "./find-entry-past-head.ts";
import { readAuditBatch, type StoredEntry } from "./read-audit-batch.ts";
import { readAuditHead } from "./read-audit-head.ts";

/**
 * What a check of a tenant's chain found. Keep `headSequence` and `headHash` elsewhere: who can rewrite the whole chain and its
 * head can only be found out by a hash that was kept outside this database.
 */
export interface AuditChainReport {
  readonly ok: boolean;
  readonly tenantId: string;
  /** Entries found good before the first break, or all of them. */
  readonly verified: number;
  readonly headSequence: string;
  readonly headHash: string;
  readonly broken: { readonly code: "AUDIT.CHAIN_BROKEN"; readonly sequence: string; readonly why: string } | null;
}

interface Link {
  sequence: string;
  hash: string;
}

/**
 * Checks a tenant's chain from its first entry to the head it has now: no gap, each entry's hash right and linked to the one before,
 * the last one the head's. Reads `batchSize` entries at a time (an entry may hold 1 MiB). Entries appended meanwhile are not looked at.
 */
export async function verifyAuditChain(db: Queryable, tenantId: string, options: { batchSize?: number } = {}): Promise<AuditChainReport> {
  const head = (await readAuditHead(db, tenantId)) ?? { sequence: "0", hash: AUDIT_GENESIS_HASH };
  const base = { tenantId, headSequence: head.sequence, headHash: head.hash };
  let last: Link = { sequence: "0", hash: AUDIT_GENESIS_HASH };
  for (;;) {
    const batch = await readAuditBatch(db, { tenantId, after: last.sequence, limit: options.batchSize ?? 100 });
    for (const entry of batch) {
      if (BigInt(last.sequence) >= BigInt(head.sequence)) break;
      const why = findBreak(tenantId, last, entry);
      if (why !== null) return { ...base, ok: false, verified: Number(last.sequence), broken: broken(nextOf(last), why) };
      last = { sequence: entry.sequence, hash: entry.hash };
    }
    if (batch.length === 0 || BigInt(last.sequence) >= BigInt(head.sequence)) break;
  }
  const why = await findBreakAtHead(db, tenantId, last, head);
  const found = why === null ? null : broken(nextOf(last), why);
  return { ...base, ok: found === null, verified: Number(last.sequence), broken: found };
}

function findBreak(tenantId: string, last: Link, entry: StoredEntry): string | null {
  const expected = nextOf(last);
  if (entry.sequence !== expected) return `expected an entry with sequence ${expected}, got ${entry.sequence}: rows are missing`;
  if (entry.previousHash !== last.hash) return `expected previousHash to be the hash of entry ${last.sequence}, got another`;
  const hash = auditHash({ ...entry, tenantId, entryJson: canonicalJson(entry.entry) });
  if (hash !== entry.hash) return `expected the hash of the row to be ${entry.hash}, got ${hash}: the row was changed`;
  return null;
}

async function findBreakAtHead(db: Queryable, tenantId: string, last: Link, head: Link): Promise<string | null> {
  if (last.sequence !== head.sequence) return `expected entries up to ${head.sequence}, got none after ${last.sequence}: rows are missing`;
  if (last.hash !== head.hash) return `expected the head's hash to be that of entry ${last.sequence}, got another`;
  const past = await findEntryPastHead(db, tenantId);
  return past === null ? null : `expected the head to be the last entry, got entry ${past} after it: the head was changed`;
}

function nextOf(link: Link): string {
  return String(BigInt(link.sequence) + 1n);
}

function broken(sequence: string, why: string): NonNullable<AuditChainReport["broken"]> {
  return { code: "AUDIT.CHAIN_BROKEN", sequence, why };
}
