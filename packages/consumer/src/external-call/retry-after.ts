/** The items of a list: seconds, or a date in one of the three forms of HTTP (RFC 9110, 5.6.7), the last of which names no zone. */
const ITEMS =
  /(?<=^ ?|, ?)(?:\d+|[A-Z][a-z]{2,8}, \d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} \d{1,2} [\d:]{8} \d{4})(?= ?(?:,|$))/g;

/**
 * The wait (ms) a `Retry-After` header asks for, at most `maxMs`; null when it is absent or malformed. Takes seconds or an HTTP date; of a
 * header that came several times the longest wait. A date is read against the peer's own `Date`, so that its clock need not agree with ours.
 */
export function parseRetryAfter(headers: Readonly<Record<string, string>>, maxMs: number): number | null {
  const peerNow = parseDate(headers["date"] ?? "");
  const now = Number.isNaN(peerNow) ? Date.now() : peerNow;
  const list = (headers["retry-after"] ?? "").replaceAll(/\s+/g, " ");
  const waits = [...list.matchAll(ITEMS)]
    .map(([item]) => (/^\d/.test(item) ? Number(item) * 1000 : parseDate(item) - now))
    .filter((waitMs) => !Number.isNaN(waitMs));
  return waits.length === 0 ? null : Math.min(Math.max(0, ...waits), maxMs);
}

/** Without a zone `Date.parse` would read local time. */
function parseDate(text: string): number {
  return Date.parse(text.endsWith("GMT") ? text : `${text} GMT`);
}
