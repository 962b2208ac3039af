/** Leads, and what converting one yields: contact, company, and by an after-save effect the opportunity with its number. */
export { convertLead, type Conversion, type LeadConversion } from "./leads/convert-lead.ts";
export { createLead } from "./leads/create-lead.ts";
export { dedupeOpportunities, type DedupeOptions, type DedupeReport } from "./leads/dedupe-opportunities.ts";
export { findOrCreateLead, type FoundLead, type SourcedLead } from "./leads/find-or-create-lead.ts";
export type { NewLead } from "./leads/lead-input.ts";
export type { MergedLead } from "./leads/merge-duplicates.ts";
export { opportunityCreate } from "./leads/opportunity-create.ts";
export { formatOpportunityNumber, parseOpportunityNumber } from "./leads/opportunity-number.ts";
