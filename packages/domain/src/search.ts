/** Documents that people search: kept by `search-index`, found by `searchDocuments`. */
export { applySearchChange, type SearchSource } from "./search/apply-search-change.ts";
export type { SearchQuery } from "./search/check-search-query.ts";
export { purgeDeletedDocuments } from "./search/purge-deleted-documents.ts";
export { searchChangeFor, type SearchChange } from "./search/search-change-for.ts";
export { searchDocuments, type SearchHit, type SearchResult } from "./search/search-documents.ts";
