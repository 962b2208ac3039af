export { migrate, type MigrateOptions, type MigrateResult } from "./migrate-database.ts";
export { migrationStatus, type MigrationStatus } from "./migration-status.ts";
export { verifySchema } from "./verify-schema.ts";
