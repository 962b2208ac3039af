/** A text as PostgreSQL can hold it: U+0000 and halves of surrogate pairs become U+FFFD. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}
