/** Two texts are the same to a rule when these are equal: Unicode form, case and outer spaces do not count. */
export function textKey(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase();
}
