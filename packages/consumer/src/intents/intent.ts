/** Which effect: one intent per event, consumer, target and epoch. `target` is '' for a mail, the endpoint's id for a webhook. */
export interface IntentKey {
  readonly eventId: string;
  readonly tenantId: string;
  readonly consumer: string;
  readonly target: string;
  readonly effectEpoch: number;
}

/**
 * The id of an outside call as its other side sees it (webhook-id, idempotency key): the same on every try, another on a deliberate repeat.
 * With a `target` each of an event's calls has one of its own; without, all of them share it.
 */
export function externalIdOf({ eventId, effectEpoch }: Pick<IntentKey, "eventId" | "effectEpoch">, target?: string): string {
  const id = target === undefined ? eventId : `${eventId}-${target}`;
  return effectEpoch === 0 ? id : `${id}-${effectEpoch}`;
}

export type IntentState = "pending" | "sending" | "sent" | "unknown" | "failed";

/** An outside call that cannot be taken back, and how far it is. */
export interface Intent {
  readonly id: string;
  readonly target: string;
  readonly state: IntentState;
  /** Message-ID or webhook-id: the same on every repeat. */
  readonly externalId: string;
  readonly attempts: number;
  readonly unknowns: number;
  readonly lastErrorCode: string | null;
  readonly lastError: string | null;
  /** ms until the next try is due, by the database's clock; 0 when it is. */
  readonly waitMs: number;
  /** ms since the call began, for one that is `sending`. */
  readonly sendingForMs: number | null;
}

/** The columns of an {@link Intent}, for SELECT and RETURNING. */
export const INTENT_COLUMNS = `"id", "target", "state", "externalId", "attempts", "unknowns", "lastErrorCode", "lastError",
  greatest(0, coalesce(extract(epoch FROM "notBefore" - clock_timestamp()) * 1000, 0))::float8 AS "waitMs",
  (extract(epoch FROM clock_timestamp() - "sendingSince") * 1000)::float8 AS "sendingForMs"`;
