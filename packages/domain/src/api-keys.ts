/** API keys: what a tenant's programs are known by. */
export { createApiKey, type CreatedApiKey, type NewApiKey } from "./api-keys/create-api-key.ts";
export { findApiKey, type ApiKey } from "./api-keys/find-api-key.ts";
export { revokeApiKey } from "./api-keys/revoke-api-key.ts";
