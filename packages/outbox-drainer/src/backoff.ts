const MINUTE_MS = 60_000;
/** Minutes before retry n; the last value repeats. */
export const BACKOFF_MINUTES = [1, 2, 4, 8, 16, 32] as const;

/** ms to wait before retry number `retry` (1 is the first). */
export function backoffMs(retry: number): number {
  const index = Math.min(Math.max(retry, 1), BACKOFF_MINUTES.length) - 1;
  return (BACKOFF_MINUTES[index] ?? 32) * MINUTE_MS;
}
