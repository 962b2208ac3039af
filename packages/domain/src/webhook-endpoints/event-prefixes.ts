import { CodedError } from "@toolctrl/foundation/errors";

/**
 * A prefix of event types as it is stored: whole segments, without the dot at the end.
 * @throws CodedError `PUBLISH.EVENT_TYPE` for a malformed one
 */
export function checkEventPrefix(prefix: string): string {
  const bare = prefix.endsWith(".") ? prefix.slice(0, -1) : prefix;
  if (/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*$/.test(bare)) return bare;
  throw new CodedError(
    "PUBLISH.EVENT_TYPE",
    `expected an event prefix of lowercase, dot-separated segments, got ${JSON.stringify(prefix.slice(0, 80))}`,
  );
}

/** The condition that a row's "eventPrefixes" take the event type of a parameter such as `$2`; none takes all. */
export function takesEventType(parameter: `$${number}`): string {
  return `(cardinality("eventPrefixes") = 0
       OR EXISTS (SELECT 1 FROM unnest("eventPrefixes") AS prefix WHERE ${parameter} = prefix OR starts_with(${parameter}, prefix || '.')))`;
}
