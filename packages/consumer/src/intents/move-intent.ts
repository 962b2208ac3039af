import type { Queryable } from "@toolctrl/db/sql";
import { CodedError, describeError, errorCodeOf } from "@toolctrl/foundation/errors";

/**
 * Locks an intent that no call is running for until the transaction ends, so that what has to be read before the call is read by one alone.
 *
 * Lock: the intent, before any other. Index: the primary key. A crash here costs nothing.
 * @throws CodedError `RECEIVER.CLAIM_LOST` when it is in another state: another delivery is at it.
 */
export async function holdIntent(tx: Queryable, intentId: string): Promise<void> {
  const { rowCount } = await tx.query(`SELECT 1 FROM "OutboxIntent" WHERE "id" = $1 AND "state" IN ('pending', 'unknown') FOR UPDATE`, [
    intentId,
  ]);
  if (rowCount !== 1) throw intentLost(intentId, "to be pending or unknown");
}

/** Puts the next try off; it is not counted as one. False when the intent is in another state. */
export async function postponeIntent(db: Queryable, intentId: string, waitMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE "OutboxIntent" SET "notBefore" = clock_timestamp() + $2::float8 * interval '1 millisecond', "updatedAt" = clock_timestamp()
     WHERE "id" = $1 AND "state" IN ('pending', 'unknown')`,
    [intentId, waitMs],
  );
  return rowCount === 1;
}

/**
 * `pending` or `unknown` → `sending`, by compare-and-set: the last thing before the call that cannot be taken back.
 * @throws CodedError `RECEIVER.CLAIM_LOST` when it is in another state: another delivery is at it.
 */
export async function beginIntent(db: Queryable, intentId: string, token: string): Promise<void> {
  const { rowCount } = await db.query(
    `UPDATE "OutboxIntent"
     SET "state" = 'sending', "token" = $2, "sendingSince" = clock_timestamp(), "attempts" = "attempts" + 1, "notBefore" = NULL, "updatedAt" = clock_timestamp()
     WHERE "id" = $1 AND "state" IN ('pending', 'unknown')`,
    [intentId, token],
  );
  if (rowCount !== 1) throw intentLost(intentId, "to be pending or unknown");
}

/** How a call ended: `sent` and `failed` are final, `pending` is known not to have happened, `unknown` may have. */
export type IntentEnd =
  | { readonly state: "sent" }
  /** `unknown`: the last try's answer was lost, and no other follows. */
  | { readonly state: "failed"; readonly error: Error; readonly unknown?: boolean }
  | { readonly state: "pending"; readonly error: Error; readonly waitMs?: number }
  | { readonly state: "unknown"; readonly error: Error; readonly waitMs?: number };

/** `sending` → its end, fenced by the token. False when it is no longer ours; then nothing is written. */
export async function endIntent(db: Queryable, intentId: string, token: string, end: IntentEnd): Promise<boolean> {
  const error = end.state === "sent" ? null : end.error;
  const waitMs = "waitMs" in end ? (end.waitMs ?? 0) : 0;
  const unknown = end.state === "unknown" || (end.state === "failed" && end.unknown === true);
  const { rowCount } = await db.query(
    `UPDATE "OutboxIntent"
     SET "state" = $3, "token" = NULL, "sendingSince" = NULL, "lastErrorCode" = $4, "lastError" = $5,
         "unknowns" = "unknowns" + CASE WHEN $7::boolean THEN 1 ELSE 0 END,
         "sentAt" = CASE WHEN $3 = 'sent' THEN clock_timestamp() END,
         "notBefore" = CASE WHEN $6::float8 > 0 THEN clock_timestamp() + $6::float8 * interval '1 millisecond' END,
         "updatedAt" = clock_timestamp()
     WHERE "id" = $1 AND "state" = 'sending' AND "token" = $2`,
    [intentId, token, end.state, error === null ? null : errorCodeOf(error), error === null ? null : describeError(error), waitMs, unknown],
  );
  return rowCount === 1;
}

/** `pending` or `unknown` → `failed` or `sent` without a call: there is nothing left to do, or no way to do it. */
export async function settleIntentUncalled(
  db: Queryable,
  intentId: string,
  end: { state: "sent" } | { state: "failed"; error: Error },
): Promise<boolean> {
  const error = end.state === "sent" ? null : end.error;
  const { rowCount } = await db.query(
    `UPDATE "OutboxIntent"
     SET "state" = $2, "lastErrorCode" = $3, "lastError" = $4, "notBefore" = NULL, "sentAt" = CASE WHEN $2 = 'sent' THEN clock_timestamp() END, "updatedAt" = clock_timestamp()
     WHERE "id" = $1 AND "state" IN ('pending', 'unknown')`,
    [intentId, end.state, error === null ? null : errorCodeOf(error), error === null ? null : describeError(error)],
  );
  return rowCount === 1;
}

/**
 * `sending` → `unknown`, for a call whose process is gone. A call younger than `windowMs` may still be running (a flushed store gives its
 * event to a second delivery), so it is left alone: false.
 */
export async function abandonIntent(db: Queryable, intentId: string, windowMs: number, code: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE "OutboxIntent"
     SET "state" = 'unknown', "token" = NULL, "sendingSince" = NULL, "unknowns" = "unknowns" + 1, "lastErrorCode" = $3,
         "lastError" = 'the process ended between the call and its answer', "updatedAt" = clock_timestamp()
     WHERE "id" = $1 AND "state" = 'sending' AND "sendingSince" <= clock_timestamp() - $2::float8 * interval '1 millisecond'`,
    [intentId, windowMs, code],
  );
  return rowCount === 1;
}

/** `failed` → `pending` with a fresh budget. */
export async function reopenIntent(db: Queryable, intentId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE "OutboxIntent" SET "state" = 'pending', "attempts" = 0, "unknowns" = 0, "notBefore" = NULL, "updatedAt" = clock_timestamp() WHERE "id" = $1 AND "state" = 'failed'`,
    [intentId],
  );
  return rowCount === 1;
}

/** The error of a delivery that found its intent in another's hands. */
export function intentLost(intentId: string, expected: string): CodedError {
  return new CodedError("RECEIVER.CLAIM_LOST", `expected intent ${intentId} ${expected}, got another delivery's state`, {
    facts: { intentId },
  });
}
