export { migrate, type MigrateOptions, type MigrateResult } from "./apply-migrations.ts";
export { migrationStatus, type MigrationStatus } from "./migration-status.ts";
export { verifySchema } from "./verify-schema.ts";
