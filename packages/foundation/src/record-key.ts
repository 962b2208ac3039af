/** An API name: what may stand before the slash, so that a key splits in one way only. */
const OBJECT_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const MAX_RECORD_ID_LENGTH = 190;

/** The payload fields that name the record an event belongs to. */
export interface RecordIdentity {
  readonly object: string;
  readonly recordId: string;
}

/**
 * The record key of a payload: `Object + "/" + recordId`; null when the payload names no record in the form the rule knows.
 *
 * The migration that adds `"recordKey"` has the same rule in SQL (`outboxRecordKey`); a property test holds the two together.
 */
export function recordKeyOf(payload: unknown): string | null {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return null;
  const { object, recordId } = payload as Record<string, unknown>;
  if (typeof object !== "string" || typeof recordId !== "string") return null;
  // A character is one or two units; what is too long in units is not taken apart.
  const length = recordId.length > 2 * MAX_RECORD_ID_LENGTH ? recordId.length : Array.from(recordId).length;
  if (!OBJECT_NAME.test(object) || length < 1 || length > MAX_RECORD_ID_LENGTH) return null;
  return `${object}/${recordId}`;
}
