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

/** The receipts of one consumer, tenant and epoch, as `withOutboxIdempotency` asks for them. */
export function createReceiptAuthority(db: Queryable, scope: ReceiptScope): ReceiptAuthority {
  const { tenantId, consumer, effectEpoch, anyEpoch = false } = scope;
  return {
    find: async (eventId) => {
      const { rows } = await db.query<{ result: unknown; isAbsent: boolean }>(FIND, [eventId, consumer, effectEpoch, anyEpoch]);
      const row = rows[0];
      return row === undefined ? null : { result: row.isAbsent ? undefined : row.result };
    },
    record: async (eventId, result) => {
      const { json, detail } = encodeReceiptResult(result);
      await db.query(RECORD, [eventId, consumer, effectEpoch, tenantId, json, detail]);
    },
  };
}
