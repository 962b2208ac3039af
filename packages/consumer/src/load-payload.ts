import type { Queryable } from "@toolctrl/db/sql";
import type { JobEnvelope } from "@toolctrl/foundation/envelope";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";

/**
 * The payload of a delivery: from the job, or from the event's row when it travels by reference.
 *
 * The tenant is part of the look-up, so that a forged or mixed-up job cannot read another tenant's row.
 * @throws CodedError `RECEIVER.EVENT_GONE`
 */
export async function loadPayload(db: Queryable, envelope: JobEnvelope): Promise<JsonValue> {
  if (envelope.payload !== undefined) return envelope.payload;
  const { rows } = await db.query<{ payload: JsonValue }>(`SELECT "payload" FROM "OutboxEvent" WHERE "id" = $1 AND "tenantId" = $2`, [
    envelope.outboxEventId,
    envelope.tenantId,
  ]);
  const row = rows[0];
  if (row === undefined) {
    throw new CodedError("RECEIVER.EVENT_GONE", `expected event ${envelope.outboxEventId} to be in OutboxEvent, got no row`, {
      facts: { eventId: envelope.outboxEventId },
    });
  }
  return row.payload;
}
