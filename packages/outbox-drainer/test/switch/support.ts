import { randomUUID } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";
import { readMode, type DrainerMode } from "../../src/sql/read-mode.ts";

export interface EntrySeed {
  readonly vote?: "false" | "shadow" | "true";
  readonly blockers?: readonly string[] | null;
  readonly drains?: boolean;
  /** Whether it was heard of lately. */
  readonly alive?: boolean;
  readonly pid?: number;
}

/** Enters a process in the register, as it would itself. @returns its id. */
export async function seedProcess(db: Queryable, entry: EntrySeed = {}): Promise<string> {
  const id = randomUUID();
  const { vote = "true", blockers = [], drains = true, alive = true, pid = 1 } = entry;
  await db.query(
    `INSERT INTO "OutboxDrainer" ("id", "app", "host", "pid", "vote", "drains", "queueBackend", "queuePrefix", "blockers", "aliveUntil")
     VALUES ($1, 'other', 'there', $2, $3, $4, 'redis', '{toolctrl}', $5, clock_timestamp() + $6 * interval '30 seconds')`,
    [id, pid, vote, drains, blockers, alive ? 1 : -1],
  );
  return id;
}

export async function leave(db: Queryable, id: string): Promise<void> {
  await db.query(`DELETE FROM "OutboxDrainer" WHERE "id" = $1`, [id]);
}

/** The mode row, e.g. `batch>pull@2`; `batch@1` when nothing is to change. */
export async function modeOf(db: Queryable): Promise<string> {
  return shown(await readMode(db));
}

function shown({ mode, desired, epoch }: DrainerMode): string {
  return `${mode === desired ? mode : `${mode}>${desired}`}@${epoch}`;
}

/** An event that a drainer has claimed, for so long from now. @returns its id. */
export async function seedClaim(db: Queryable, claimMode: "batch" | "solo" | "pull", leaseSeconds: number): Promise<string> {
  const id = randomUUID();
  await db.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "lockToken", "claimMode", "lockedUntil")
     VALUES ($1, 'acme', 'record.lead.updated', '{}', 'PROCESSING', gen_random_uuid(), $2, clock_timestamp() + $3 * interval '1 second')`,
    [id, claimMode, leaseSeconds],
  );
  return id;
}
