const PREFIX = "OPP-";
const MIN_DIGITS = 6;

/** The human number, `OPP-000123`. */
export function formatOpportunityNumber(number: bigint): string {
  return `${PREFIX}${String(number).padStart(MIN_DIGITS, "0")}`;
}

/** The number in a human number, however it is typed; null when there is none. */
export function parseOpportunityNumber(text: string): bigint | null {
  const digits = /^\s*OPP-?0*([1-9]\d{0,17})\s*$/i.exec(text)?.[1];
  return digits === undefined ? null : BigInt(digits);
}
