import type { Queryable } from "@toolctrl/db/sql";
import { auditHash } from "./audit-hash.ts";
import { lockAuditHead, type AuditHead } from "./lock-audit-head.ts";
import { startAuditChain } from "./start-audit-chain.ts";
import { writeAuditEntry } from "./write-audit-entry.ts";

/** What to append. `entryJson` comes from `canonicalJson`, made before the transaction begins. */
export interface AuditAppend {
  readonly tenantId: string;
  readonly eventId: string;
  readonly effectEpoch: number;
  readonly entryJson: string;
}

/** The entry's place in the chain. `sequence` is the decimal text of a bigint. */
export interface AppendedEntry {
  readonly sequence: string;
  readonly hash: string;
}

/**
 * Appends an entry to its tenant's chain. To be the last call of its transaction: it locks the head of the chain, and every other
 * append of the tenant waits until the transaction ends.
 *
 * @returns null when the event has its entry in this epoch already.
 */
export async function appendAuditEntry(tx: Queryable, append: AuditAppend): Promise<AppendedEntry | null> {
  const head = await lockHead(tx, append);
  if (head.recorded) return null;
  const sequence = String(BigInt(head.sequence) + 1n);
  const row = { ...append, sequence, previousHash: head.hash, createdAt: head.now };
  const hash = auditHash(row);
  await writeAuditEntry(tx, { ...row, hash });
  return { sequence, hash };
}

async function lockHead(tx: Queryable, append: AuditAppend): Promise<AuditHead> {
  const present = await lockAuditHead(tx, append);
  if (present !== null) return present;
  await startAuditChain(tx, append.tenantId);
  const started = await lockAuditHead(tx, append);
  if (started === null) throw new Error(`expected ${append.tenantId}'s audit chain to have a head, got none`);
  return started;
}
