import { createHash } from "node:crypto";

/** The previous hash of a tenant's first entry. */
export const AUDIT_GENESIS_HASH = "0".repeat(64);

/** What an entry's hash covers. `sequence` is the decimal text of a bigint, `createdAt` ISO 8601 in UTC with six decimals. */
export interface HashedEntry {
  readonly previousHash: string;
  readonly tenantId: string;
  readonly sequence: string;
  readonly eventId: string;
  readonly effectEpoch: number;
  readonly createdAt: string;
  /** The entry as `canonicalJson` writes it. */
  readonly entryJson: string;
}

/** sha256, in hex, over the previous hash, a line feed, and the canonical JSON of the row. */
export function auditHash(row: HashedEntry): string {
  // Written by hand, members in canonical order, so that the (large) entry is not serialised again while the chain's head is locked.
  const json =
    `{"createdAt":${JSON.stringify(row.createdAt)},"effectEpoch":${row.effectEpoch},"entry":${row.entryJson},` +
    `"eventId":${JSON.stringify(row.eventId)},"sequence":${JSON.stringify(row.sequence)},"tenantId":${JSON.stringify(row.tenantId)}}`;
  return createHash("sha256").update(row.previousHash).update("\n").update(json).digest("hex");
}
