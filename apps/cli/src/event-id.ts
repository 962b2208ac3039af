import { CodedError } from "@toolctrl/foundation/errors";
import { isUuid } from "./uuid.ts";

/** Whether a text can be the id of an event. What cannot is not found, without asking the database. */
export function isEventId(text: string): boolean {
  return isUuid(text);
}

/** @throws CodedError `DB.EVENT_NOT_FOUND` for a text that cannot be the id of an event. */
export function eventIdOf(text: string | undefined): string {
  if (text !== undefined && isEventId(text)) return text.toLowerCase();
  throw notFound(text ?? "");
}

export function notFound(id: string): CodedError {
  const why = isEventId(id)
    ? `expected an event with id ${id}, got none`
    : `expected an event id (a UUID), got ${JSON.stringify(id.slice(0, 80))}`;
  return new CodedError("DB.EVENT_NOT_FOUND", why, { facts: { id } });
}
