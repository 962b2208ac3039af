/** Two names are the same company when these are equal: Unicode form, case and runs of spaces do not count. */
export function companyNameKey(name: string): string {
  return name.normalize("NFKC").trim().replaceAll(/\s+/gu, " ").toLowerCase();
}

/** Two addresses are the same person's when these are equal: case does not count. */
export function addressKey(address: string): string {
  return address.trim().toLowerCase();
}

/** Whose contact a lead is: that of its address, whatever its case; without an address, of the lead alone. */
export function contactKey(lead: { readonly id: string; readonly email: string | null }): string {
  return lead.email === null ? `lead:${lead.id}` : addressKey(lead.email);
}
