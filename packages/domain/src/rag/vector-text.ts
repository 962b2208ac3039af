/** A vector as PostgreSQL's array text. Nine digits are all that a `real` can tell apart. */
export function vectorText(vector: readonly number[]): string {
  return `{${vector.map((number) => number.toPrecision(9)).join(",")}}`;
}
