/** Two names are the same company when these are equal: Unicode form, case and runs of spaces do not count. */
export function companyNameKey(name: string): string {
  return name.normalize("NFKC").trim().replaceAll(/\s+/gu, " ").toLowerCase();
}

/** Whose contact a lead is: that of its address, whatever its case; without an address, of the lead alone. */
export function contactKey(lead: { readonly id: string; readonly email: string | null }): string {
  return lead.email === null ? `lead:${lead.id}` : lead.email.trim().toLowerCase();
}
