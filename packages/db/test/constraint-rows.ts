export const UUID = "0190a0a0-0000-7000-8000-000000000001";
/** Of what the good rows refer to. */
export const OTHER = "0190a0a0-0000-7000-8000-000000000002";
export const NOW = "2030-01-01T00:00:00Z";

/** Columns and their values. */
export type Row = Record<string, unknown>;

/** Table, constraint, and the columns that break it. */
export type ConstraintCase = [table: string, constraint: string, changes: Row];
