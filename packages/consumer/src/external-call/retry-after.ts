/**
 * The wait (ms) a `Retry-After` header asks for, at most `maxMs`; null when it is absent or malformed. Takes seconds or an HTTP date.
 * A date is read against the peer's own `Date`, so that its clock need not agree with ours.
 */
export function parseRetryAfter(headers: Readonly<Record<string, string>>, maxMs: number): number | null {
  const value = headers["retry-after"]?.trim() ?? "";
  if (/^\d{1,10}$/.test(value)) return Math.min(Number(value) * 1000, maxMs);
  // Date.parse takes far more than HTTP dates, "-5" among it.
  if (!/^[A-Z][a-z]{2},? .*GMT$/.test(value)) return null;
  const until = Date.parse(value);
  if (Number.isNaN(until)) return null;
  const peerNow = Date.parse(headers["date"] ?? "");
  return Math.min(Math.max(0, until - (Number.isNaN(peerNow) ? Date.now() : peerNow)), maxMs);
}
