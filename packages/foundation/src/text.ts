/**
 * A text that is not ours as PostgreSQL stores it, in text and in jsonb: U+0000 and halves of surrogate pairs become U+FFFD, and it has
 * at most `max` characters. No pair is cut in two: jsonb refuses the half, and with it all that is written beside it.
 */
export function storableText(text: string, max = Number.POSITIVE_INFINITY): string {
  const cut = text.length > max ? text.slice(0, max).replace(/[\uD800-\uDBFF]$/, "") : text;
  return cut.replaceAll("\u0000", "\uFFFD").toWellFormed();
}
