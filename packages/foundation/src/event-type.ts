import { CodedError } from "./errors.ts";

/** Lowercase, dot-separated, at least three segments; hyphens inside a segment. */
const EVENT_TYPE = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*){2,}$/;
const MAX_EVENT_TYPE_LENGTH = 200;

/** Says whether a text is an event type `<domain>.<entity>.<action>` (more segments allowed). */
export function isEventType(type: string): boolean {
  return type.length <= MAX_EVENT_TYPE_LENGTH && EVENT_TYPE.test(type);
}

/** What happens in a product is named like an event, of two segments at least: `row.created`. */
const APPLICATION_EVENT_TYPE = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)+$/;

/** Says whether a text is the type of an application event, `<entity>.<happening>` (more segments allowed). */
export function isApplicationEventType(type: string): boolean {
  return type.length <= MAX_EVENT_TYPE_LENGTH && APPLICATION_EVENT_TYPE.test(type);
}

/** @throws CodedError `PUBLISH.EVENT_TYPE` */
export function assertEventType(type: unknown): asserts type is string {
  if (typeof type === "string" && isEventType(type)) return;
  const got = typeof type === "string" ? JSON.stringify(type.slice(0, 80)) : typeof type;
  throw new CodedError(
    "PUBLISH.EVENT_TYPE",
    `expected the event type to be lowercase <domain>.<entity>.<action> of at most ${MAX_EVENT_TYPE_LENGTH} characters, got ${got}`,
    {
      facts: { got },
    },
  );
}
