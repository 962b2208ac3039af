import type { Queryable } from "./sql.ts";

export interface Receipt {
  readonly eventId: string;
  readonly consumer: string;
  readonly effectEpoch: number;
  /** The event's generation that it was written for. */
  readonly generation: number;
  readonly tenantId: string;
  readonly outcome: "done" | "dead";
  readonly result: unknown;
  readonly detail: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const LIST = `SELECT "eventId"::text AS "eventId", "consumer", "effectEpoch", "generation", "tenantId", "outcome", "result", "detail",
  "createdAt", "updatedAt"
FROM "OutboxReceipt" WHERE "eventId" = $1::uuid ORDER BY "updatedAt", "consumer", "effectEpoch"`;

/** Every receipt of an event, oldest first. */
export async function listReceipts(db: Queryable, eventId: string): Promise<Receipt[]> {
  const { rows } = await db.query<{ [Field in keyof Receipt]: Receipt[Field] }>(LIST, [eventId]);
  return rows;
}
