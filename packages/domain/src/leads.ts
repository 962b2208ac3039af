/** Leads, and what converting one yields: contact, company, and by an after-save effect the opportunity with its number. */
export { convertLead, type Conversion, type LeadConversion } from "./leads/convert-lead.ts";
export { createLead, type NewLead } from "./leads/create-lead.ts";
export { dedupeOpportunities, type DedupeOptions, type DedupeReport } from "./leads/dedupe-opportunities.ts";
export type { MergedLead } from "./leads/merge-duplicates.ts";
export { opportunityCreate } from "./leads/opportunity-create.ts";
export { formatOpportunityNumber, parseOpportunityNumber } from "./leads/opportunity-number.ts";
