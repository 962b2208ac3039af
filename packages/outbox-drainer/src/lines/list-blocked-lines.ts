import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import { readMode, type DrainerMode } from "../sql/read-mode.ts";
import { readBlockedLines, type BlockedLine } from "./sql/blocked-lines.ts";

export interface BlockedLines {
  /** Only in `pull` do lines hold events back; the batch dispatcher keeps the order inside a batch and waits for no head. */
  readonly mode: DrainerMode["mode"];
  /** Whether the live table knows record keys; without them there are no lines. */
  readonly keyed: boolean;
  readonly lines: readonly BlockedLine[];
  /** Whether there may be more than were looked at, or than the limit. */
  readonly partial: boolean;
}

/** The records whose events wait for an older one, those with the oldest head first: for a person who asks. */
export async function listBlockedLines(db: Queryable, request: { tenantId: string | null; limit: number }): Promise<BlockedLines> {
  const { mode } = await readMode(db);
  const { column } = await recordKeyReady(db);
  if (!column) return { mode, keyed: false, lines: [], partial: false };
  return { mode, keyed: true, ...(await readBlockedLines(db, request)) };
}
