import { randomUUID } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";

export type LineState = "due" | "held" | "backoff" | "in-flight" | "expired" | "parked" | "dead" | "done";

/** Inserts events of one record in the given states, the oldest first. @returns their ids. */
export async function seedLine(
  db: Queryable,
  recordId: string,
  states: readonly LineState[],
  options: { tenantId?: string; type?: string } = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (const state of states) {
    const id = randomUUID();
    ids.push(id);
    await db.query(
      `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "blocksLine", "scheduledAt", "createdAt", "retries",
         "lockedUntil", "lockToken", "claimMode", "lastErrorCode", "processedAt")
       VALUES ($1, $2, $3, jsonb_build_object('object', 'Lead', 'recordId', $4::text), $5::"OutboxStatus", $6,
         clock_timestamp() + CASE $7 WHEN 'backoff' THEN interval '1 minute' WHEN 'held' THEN interval '1 day' ELSE interval '-1 minute' END,
         clock_timestamp() - interval '1 minute', CASE WHEN $7 = 'backoff' THEN 1 ELSE 0 END,
         CASE $7 WHEN 'in-flight' THEN clock_timestamp() + interval '1 minute' WHEN 'expired' THEN clock_timestamp() - interval '1 second' END,
         CASE WHEN $5 = 'PROCESSING' THEN gen_random_uuid() END, CASE WHEN $5 = 'PROCESSING' THEN 'pull' END,
         CASE WHEN $7 IN ('parked', 'dead', 'backoff') THEN 'HTTP.NETWORK' WHEN $7 = 'held' THEN 'ROUTER.HELD' END, CASE WHEN $7 = 'done' THEN clock_timestamp() END)`,
      [
        id,
        options.tenantId ?? "acme",
        options.type ?? "record.lead.updated",
        recordId,
        STATUS[state],
        !["dead", "done"].includes(state),
        state,
      ],
    );
  }
  return ids;
}

const STATUS = {
  due: "PENDING",
  held: "PENDING",
  backoff: "PENDING",
  "in-flight": "PROCESSING",
  expired: "PROCESSING",
  parked: "FAILED",
  dead: "FAILED",
  done: "DONE",
} as const;
