import type { ClaimedEvent } from "./claimed-event.ts";

/** Two lanes overlap the adds of one part of a batch with the settling of the other; more lanes measured no better. */
export const LANES = 2;

/** Splits a batch so that events of one line never travel in two lanes; order inside a lane is insert order. */
export function splitIntoLanes(events: readonly ClaimedEvent[], lanes = LANES): ClaimedEvent[][] {
  const parts: ClaimedEvent[][] = Array.from({ length: lanes }, () => []);
  for (const event of events) parts[laneOf(event, lanes)]?.push(event);
  return parts;
}

/** FNV-1a: spreads as evenly as is needed here, at a tenth of the price of a cryptographic hash. */
function laneOf(event: ClaimedEvent, lanes: number): number {
  const line = `${event.tenantId}/${event.id}`;
  let hash = 0x811c9dc5;
  for (let index = 0; index < line.length; index += 1) hash = Math.imul(hash ^ line.charCodeAt(index), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) % lanes;
}
