import { CodedError } from "@toolctrl/foundation/errors";
import type { QueueLog } from "./log.ts";
import type { QueueBackend } from "./port.ts";

const SAMPLES = 5;
/** More than this between two clocks is a fault. */
export const MAX_SKEW_MS = 2000;

/** This machine's clock minus the server's, ms: the median of five readings, each taken in the middle of its round trip. */
export async function measureClockSkew(serverClockMs: () => Promise<number>): Promise<number> {
  const skews: number[] = [];
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const before = Date.now();
    const server = await serverClockMs();
    skews.push((before + Date.now()) / 2 - server);
  }
  return skews.toSorted((a, b) => a - b)[Math.floor(SAMPLES / 2)] as number;
}

/**
 * Compares this machine's clock with the queue server's, at boot.
 *
 * BullMQ on Postgres reckons job locks by the worker's clock: one that is minutes ahead runs live jobs a second time, so the start is
 * refused there. On Redis locks expire by the server's clock; only delays drift, so it is a warning.
 *
 * @returns the skew, ms.
 * @throws CodedError `QUEUE.CLOCK_SKEW` on postgres; `QUEUE.UNREACHABLE`, `QUEUE.TIMEOUT` when the clock cannot be read.
 */
export async function assertClockSkew(backend: Pick<QueueBackend, "kind" | "clockSkewMs">, log: QueueLog): Promise<number> {
  const skewMs = await backend.clockSkewMs();
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return skewMs;
  const facts = { skewMs: Math.round(skewMs), limitMs: MAX_SKEW_MS, backend: backend.kind };
  const error = new CodedError(
    "QUEUE.CLOCK_SKEW",
    `expected this machine's clock within ${MAX_SKEW_MS} ms of the queue server's, got ${facts.skewMs} ms`,
    { facts },
  );
  if (backend.kind === "postgres") throw error;
  log.warn({ ...facts, fix: error.fix }, error.message);
  return skewMs;
}
