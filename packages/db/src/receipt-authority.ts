import type { ReceiptAuthority } from "@toolctrl/outbox-receiver/store";
import { encodeReceiptResult } from "./receipt-result.ts";
import type { Queryable } from "./sql.ts";

/** Whose receipt it is. */
export interface ConsumerKey {
  readonly tenantId: string;
  readonly consumer: string;
  /** 0 on ordinary deliveries; raised by each deliberate replay. */
  readonly effectEpoch: number;
}

export interface ReceiptScope extends ConsumerKey {
  /** Whether a `done` receipt of any epoch counts: so for every consumer but the one that is replayed. Default false. */
  readonly anyEpoch?: boolean | undefined;
}

// Primary key ("eventId", "consumer", "effectEpoch").
const FIND = `SELECT "result", "result" IS NULL AS "isAbsent" FROM "OutboxReceipt"
WHERE "eventId" = $1::uuid AND "consumer" = $2::text AND "outcome" = 'done' AND ($4::boolean OR "effectEpoch" = $3::int)
ORDER BY "effectEpoch" DESC LIMIT 1`;

// A dead receipt suppresses nothing, so it gives way to the done one; a done one stays as it is.
const RECORD = `INSERT INTO "OutboxReceipt" ("eventId", "consumer", "effectEpoch", "tenantId", "outcome", "result", "detail")
VALUES ($1::uuid, $2::text, $3::int, $4::text, 'done', $5::jsonb, $6::text)
ON CONFLICT ("eventId", "consumer", "effectEpoch") DO UPDATE
SET "outcome" = 'done', "result" = EXCLUDED."result", "detail" = EXCLUDED."detail", "updatedAt" = clock_timestamp()
WHERE "OutboxReceipt"."outcome" = 'dead'`;

/** A receipt that is asked for. */
export interface ReceiptQuery extends ReceiptScope {
  readonly eventId: string;
}

/** A recorded result; `undefined` when none was stored. */
export type FoundReceipt = { readonly result: unknown };

/** A `done` receipt as it is written. `result` is JSON text, null for none; `detail` says why a result is not stored. */
export interface ReceiptRow extends ConsumerKey {
  readonly eventId: string;
  readonly result: string | null;
  readonly detail: string | null;
}

/** The receipts of one consumer, tenant and epoch, as `withOutboxIdempotency` asks for them. */
export function createReceiptAuthority(db: Queryable, scope: ReceiptScope): ReceiptAuthority {
  return {
    find: (eventId) => findReceipt(db, { ...scope, eventId }),
    record: async (eventId, result) => recordReceipt(db, receiptRowOf(scope, eventId, result)),
  };
}

export function receiptRowOf(scope: ConsumerKey, eventId: string, result: unknown): ReceiptRow {
  const { tenantId, consumer, effectEpoch } = scope;
  const { json, detail } = encodeReceiptResult(result);
  return { eventId, tenantId, consumer, effectEpoch, result: json, detail };
}

export async function findReceipt(db: Queryable, query: ReceiptQuery): Promise<FoundReceipt | null> {
  const { eventId, consumer, effectEpoch, anyEpoch = false } = query;
  const { rows } = await db.query<{ result: unknown; isAbsent: boolean }>(FIND, [eventId, consumer, effectEpoch, anyEpoch]);
  const row = rows[0];
  return row === undefined ? null : { result: row.isAbsent ? undefined : row.result };
}

export async function recordReceipt(db: Queryable, row: ReceiptRow): Promise<void> {
  await db.query(RECORD, [row.eventId, row.consumer, row.effectEpoch, row.tenantId, row.result, row.detail]);
}
