import { createHash } from "node:crypto";
import type { ClaimedEvent } from "./claimed-event.ts";

/** Two lanes overlap the adds of one part of a batch with the settling of the other; more lanes measured no better. */
export const LANES = 2;

/** Splits a batch so that events of one line never travel in two lanes; order inside a lane is insert order. */
export function splitIntoLanes(events: readonly ClaimedEvent[], lanes = LANES): ClaimedEvent[][] {
  const parts: ClaimedEvent[][] = Array.from({ length: lanes }, () => []);
  for (const event of events) parts[laneOf(event, lanes)]?.push(event);
  return parts;
}

function laneOf(event: ClaimedEvent, lanes: number): number {
  return createHash("sha1").update(`${event.tenantId}/${event.id}`).digest().readUInt32BE(0) % lanes;
}
