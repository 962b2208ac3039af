export { appendAuditEntry, type AuditAppend, type AppendedEntry } from "./audit/append-audit-entry.ts";
export { auditEntryFor, type AuditEntry } from "./audit/audit-entry-for.ts";
export { canonicalJson } from "./audit/canonical-json.ts";
export { AUDIT_GENESIS_HASH } from "./audit/audit-hash.ts";
export { verifyAuditChain, type AuditChainReport } from "./audit/verify-audit-chain.ts";
