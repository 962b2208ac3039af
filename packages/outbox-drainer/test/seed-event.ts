import { randomUUID } from "node:crypto";
import type { Queryable } from "@toolctrl/db/sql";
import type { OutboxStatus } from "../src/actions.ts";

export interface SeedEvent {
  readonly status?: OutboxStatus;
  readonly type?: string;
  readonly tenantId?: string;
  /** How long ago it came into its state; an SQL interval. */
  readonly age?: string;
  readonly effectEpoch?: number;
  readonly replayConsumer?: string;
}

/** Inserts an event in any state, as its life would have left it. @returns its id. */
export async function seedEvent(db: Queryable, event: SeedEvent = {}): Promise<string> {
  const id = randomUUID();
  const { status = "PENDING", type = "billing.invoice.paid", tenantId = "acme", age = "1 minute" } = event;
  await db.query(
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "status", "attempts", "retries", "crashes", "scheduledAt", "createdAt",
       "updatedAt", "processedAt", "lockedUntil", "lockToken", "claimMode", "blocksLine", "lastErrorCode", "lastError", "effectEpoch", "replayConsumer")
     SELECT $1, $2, $3, '{"n":1}', $4::"OutboxStatus", 9, 3, 2, t, t, t,
       CASE WHEN $4 = 'DONE' THEN t END,
       CASE WHEN $4 = 'PROCESSING' THEN clock_timestamp() + interval '5 minutes' END,
       CASE WHEN $4 = 'PROCESSING' THEN gen_random_uuid() END,
       CASE WHEN $4 = 'PROCESSING' THEN 'batch' END,
       $4 IN ('PENDING', 'PROCESSING'),
       CASE WHEN $4 = 'FAILED' THEN 'QUEUE.REJECTED' END, CASE WHEN $4 = 'FAILED' THEN 'refused' END, $6, $7
     FROM (SELECT clock_timestamp() - $5::interval AS t) AS times`,
    [id, tenantId, type, status, age, event.effectEpoch ?? 0, event.replayConsumer ?? null],
  );
  return id;
}

/** Writes the receipt a consumer leaves. */
export async function seedReceipt(
  db: Queryable,
  eventId: string,
  consumer: string,
  outcome: "done" | "dead" = "done",
  effectEpoch = 0,
): Promise<void> {
  await db.query(
    `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "effectEpoch", "tenantId", "outcome", "detail") VALUES ($1, $2, $3, 'acme', $4, $5)`,
    [eventId, consumer, effectEpoch, outcome, outcome === "dead" ? "MAIL.REJECTED: 550 no such user" : null],
  );
}
