/** Whose contact an address is; `address` is plain, with its domain in ASCII, as `parseAddress` gives it. Case tells no two people apart. */
export function emailKeyOf(address: string): string {
  return address.toLowerCase();
}
